// SPDX-License-Identifier: Apache-2.0
// Where the user asks for checksums, outputs keep them on their way to disk.
package org.verbena.spark.store;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertNull;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.Path;
import java.util.Random;
import java.util.zip.CRC32;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.verbena.core.VbnConfig;
import org.verbena.core.VbnContext;

@Timeout(60)
class SpilledSumsTest {
    private static final int PARTITIONS = 5;

    @TempDir
    Path disk;
    private VbnContext context;
    private DataDirectory directory;

    @BeforeEach
    void open() throws IOException {
        context = VbnContext.open(new VbnConfig().jobKey(new byte[32]));
        directory = DataDirectory.create(Path.of("/dev/shm"), "sums-" + ProcessHandle.current().pid(),
            disk.getFileName().toString());
    }

    @AfterEach
    void close() throws IOException {
        directory.close();
        context.close();
    }

    private SlabStore store(DiskFiles files, boolean summed) {
        return new SlabStore(context, directory.path(), 8 << 20, 64 << 10, summed, files);
    }

    /** Partition 3 stays empty. */
    private static byte[][] data(int scale) {
        Random random = new Random(scale);
        byte[][] data = new byte[PARTITIONS][];
        for (int p = 0; p < PARTITIONS; p++) {
            data[p] = new byte[p == 3 ? 0 : scale + random.nextInt(scale)];
            random.nextBytes(data[p]);
        }
        return data;
    }

    private static void write(SlabStore store, long map, byte[][] data) throws IOException {
        OutputBuffer output = store.newOutput(1, map, PARTITIONS);
        for (int round = 0; round < 10; round++) { // all partitions in turn, in ten parts each
            for (int p = 0; p < PARTITIONS; p++) {
                int from = data[p].length * round / 10;
                output.stream(p, false).write(data[p], from, data[p].length * (round + 1) / 10 - from);
            }
        }
        output.commit();
    }

    private static void assertSums(byte[][] data, long[] sums) {
        assertEquals(PARTITIONS, sums.length);
        for (int p = 0; p < PARTITIONS; p++) {
            CRC32 crc = new CRC32();
            crc.update(data[p]);
            assertEquals(crc.getValue(), sums[p], "partition " + p);
        }
    }

    @Test
    void anOutputThatIsSpilledLaterHasItsSums() throws IOException {
        DiskFiles files = new DiskFiles(disk, true);
        try (SlabStore store = store(files, true)) {
            write(store, 1, data(40_000));
            store.spillAll();
            assertNull(store.find(1, 1));
            assertSums(data(40_000), files.sums(1, 1));
        }
    }

    @Test
    void anOutputThatOverflowsWhileItIsWrittenHasItsSums() throws IOException {
        DiskFiles files = new DiskFiles(disk, true);
        try (SlabStore store = store(files, true)) {
            write(store, 2, data(3_000_000));
            assertNull(store.find(1, 2));
            assertSums(data(3_000_000), files.sums(1, 2));
        }
    }

    @Test
    void whatWasDamagedInMemoryDoesNotGetTheSumOfTheDamage() throws IOException {
        DiskFiles files = new DiskFiles(disk, true);
        byte[][] data = data(1000);
        try (SlabStore store = store(files, true)) {
            write(store, 3, data);
            ByteBuffer piece = store.find(1, 3).index().pieces(1, 2)[0];
            piece.put(0, (byte) (piece.get(0) ^ 1));
            store.spillAll();
            CRC32 crc = new CRC32();
            data[1][0] ^= 1;
            crc.update(data[1]);
            assertNotEquals(crc.getValue(), files.sums(1, 3)[1]);
        }
    }

    @Test
    void withoutTheSettingThereAreNone() throws IOException {
        DiskFiles files = new DiskFiles(disk, false);
        try (SlabStore store = store(files, false)) {
            write(store, 4, data(1000));
            store.spillAll();
            assertEquals(0, files.sums(1, 4).length);
        }
    }
}
