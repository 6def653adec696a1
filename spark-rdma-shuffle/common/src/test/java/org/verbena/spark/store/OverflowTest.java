// SPDX-License-Identifier: Apache-2.0
// What of an output that exceeds the memory goes to disk twice.
package org.verbena.spark.store;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.File;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.nio.file.Path;
import java.util.Random;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.verbena.core.VbnConfig;
import org.verbena.core.VbnContext;

@Timeout(120)
class OverflowTest {
    private static final int MIB = 1 << 20;
    private static final int BUDGET = 16 * MIB;
    private static final int STEP = 10_000;

    @TempDir
    Path disk;
    private VbnContext context;
    private DataDirectory directory;
    private DiskFiles files;
    private SlabStore store;
    private File overflow;
    private long overflowed;

    @BeforeEach
    void open() throws IOException {
        files = new DiskFiles(disk) {
            @Override
            public synchronized File temporary(int shuffleId, long mapId) {
                File file = super.temporary(shuffleId, mapId);
                if (overflow == null) {
                    overflow = file; // the output's own file follows, when all bytes are there
                } else {
                    overflowed = overflow.length();
                }
                return file;
            }
        };
        context = VbnContext.open(new VbnConfig().jobKey(new byte[32]));
        directory = DataDirectory.create(Path.of("/dev/shm"), "overflow-" + ProcessHandle.current().pid(),
            disk.getFileName().toString());
        store = new SlabStore(context, directory.path(), BUDGET, 256 << 10, false, files);
    }

    @AfterEach
    void close() throws IOException {
        store.close();
        directory.close();
        context.close();
    }

    private static byte[] content(int partition, int bytes) {
        byte[] content = new byte[bytes];
        new Random(partition).nextBytes(content);
        return content;
    }

    private void assertContent(byte[][] expected) throws IOException {
        for (int p = 0; p < expected.length; p++) {
            try (InputStream in = files.open(1, 1, p, p + 1).createInputStream()) {
                assertArrayEquals(expected[p], in.readAllBytes(), "partition " + p);
            }
        }
        assertEquals(1, disk.toFile().list().length, "the overflow file is gone");
        assertEquals(0, store.usedBytes());
    }

    /** All partitions grow together, as with the hash writer; the last ones stay small. */
    private byte[][] writeInTurn(int... sizes) throws IOException {
        OutputBuffer output = store.newOutput(1, 1, sizes.length);
        byte[][] content = new byte[sizes.length][];
        int longest = 0;
        for (int p = 0; p < sizes.length; p++) {
            content[p] = content(p, sizes[p]);
            longest = Math.max(longest, sizes[p]);
        }
        for (int at = 0; at < longest; at += STEP) {
            for (int p = 0; p < sizes.length; p++) {
                if (at < sizes[p]) {
                    output.stream(p, false).write(content[p], at, Math.min(STEP, sizes[p] - at));
                }
            }
        }
        output.commit();
        return content;
    }

    @Test
    void anOutputALittleLargerThanTheMemoryIsWrittenTwiceOnlyInPart() throws IOException {
        assertContent(writeInTurn(6 * MIB, 5 * MIB, 5 * MIB, 2 * MIB));
        assertTrue(overflowed >= 2 * MIB, "does not fit: " + overflowed);
        assertTrue(overflowed <= BUDGET * 3 / 4, "too much: " + overflowed);
    }

    @Test
    void anOutputManyTimesTheMemoryIsWhole() throws IOException {
        assertContent(writeInTurn(20 * MIB, 100, 25 * MIB, 3 * MIB, 0, 15 * MIB));
    }

    @Test
    void partitionsThatShareChunksAreWhole() throws IOException {
        byte[][] content = new byte[50][];
        OutputBuffer output = store.newOutput(1, 1, content.length);
        for (int p = 0; p < content.length; p++) {
            content[p] = content(p, 700_000 + 1000 * p);
            try (OutputStream out = output.stream(p, true)) {
                out.write(content[p]);
            }
        }
        output.commit();
        assertContent(content);
    }

    /** As a sorting writer with little memory makes them: each piece takes heap, however small it is. */
    @Test
    void anOutputOfVeryManyPiecesBecomesAFileWithoutThem() throws IOException {
        int partitions = 1000;
        byte[][] content = new byte[partitions][];
        OutputBuffer output = store.newOutput(1, 1, partitions);
        int most = 0;
        for (int pass = 0; pass < 300; pass++) {
            for (int p = 0; p < partitions; p++) {
                try (OutputStream out = output.stream(p, true)) {
                    out.write(pass);
                    out.write(p);
                }
            }
            most = Math.max(most, output.pieces());
        }
        for (int p = 0; p < partitions; p++) {
            content[p] = new byte[600];
            for (int pass = 0; pass < 300; pass++) {
                content[p][2 * pass] = (byte) pass;
                content[p][2 * pass + 1] = (byte) p;
            }
        }
        assertTrue(most > partitions && most <= Rooms.MOST_PIECES, most + " pieces");
        assertTrue(output.pieces() < 300 * partitions - Rooms.MOST_PIECES + partitions, output.pieces() + " pieces");
        output.commit();
        assertContent(content);
    }
}
