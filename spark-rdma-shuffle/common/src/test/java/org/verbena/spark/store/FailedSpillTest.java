// SPDX-License-Identifier: Apache-2.0
// A spill that fails or is overtaken loses no output and leaves no file.
package org.verbena.spark.store;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;

import java.io.File;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.verbena.core.SlabPool;
import org.verbena.core.VbnConfig;
import org.verbena.core.VbnContext;

@Timeout(60)
class FailedSpillTest {
    private static final int BYTES = 100_000;

    @TempDir
    Path disk;
    private VbnContext context;
    private DataDirectory directory;
    private SlabStore store;
    private boolean broken;
    private int tries;
    private Runnable atCommit = () -> { };
    private DiskFiles files;

    @BeforeEach
    void open() throws IOException {
        files = new DiskFiles(disk) {
            @Override
            public synchronized File temporary(int shuffleId, long mapId) {
                tries++;
                File file = super.temporary(shuffleId, mapId);
                return broken ? new File(file, "below a file that does not exist") : file;
            }

            @Override
            public void commit(int shuffleId, long mapId, long[] sizes, long[] sums, File data) {
                atCommit.run();
                super.commit(shuffleId, mapId, sizes, sums, data);
            }
        };
        context = VbnContext.open(new VbnConfig().jobKey(new byte[32]));
        directory = DataDirectory.create(Path.of("/dev/shm"), "spill-" + ProcessHandle.current().pid(),
            disk.getFileName().toString());
        store = new SlabStore(context, directory.path(), 8 << 20, 64 << 10, false, files);
    }

    @AfterEach
    void close() throws IOException {
        store.close();
        directory.close();
        context.close();
    }

    private void write(int shuffle, long map) throws IOException {
        OutputBuffer output = store.newOutput(shuffle, map, 1);
        byte[] data = new byte[BYTES];
        Arrays.fill(data, (byte) map);
        try (OutputStream out = output.stream(0, true)) {
            out.write(data);
        }
        output.commit();
    }

    private void assertInFile(int shuffle, long map) throws IOException {
        assertNull(store.find(shuffle, map));
        try (InputStream in = files.open(shuffle, map, 0, 1).createInputStream()) {
            byte[] data = in.readAllBytes();
            assertEquals(BYTES, data.length);
            assertEquals((byte) map, data[BYTES - 1]);
        }
    }

    @Test
    void anOutputThatADiskRefusedOnceIsSpilledLater() throws IOException {
        write(1, 5);
        broken = true;
        store.spillAll();
        assertNotNull(store.find(1, 5));
        broken = false;
        store.spillAll();
        assertInFile(1, 5);
        assertEquals(BYTES, store.spilledBytes());
    }

    @Test
    void anOutputWhoseSpillingTaskWasKilledIsSpilledByTheNext() throws IOException {
        write(1, 6);
        Thread.currentThread().interrupt();
        store.spillAll();
        Thread.interrupted();
        assertNotNull(store.find(1, 6));
        store.spillAll();
        assertInFile(1, 6);
    }

    @Test
    void aDiskThatFailedIsLeftAloneByTasksForAWhile() throws IOException {
        write(1, 7);
        broken = true;
        List<SlabPool.Chunk> chunks = new ArrayList<>();
        for (SlabPool.Chunk chunk = store.allocate(1 << 20); chunk != null; chunk = store.allocate(1 << 20)) {
            chunks.add(chunk);
        }
        assertEquals(1, tries);
        assertNull(store.allocate(1 << 20));
        assertEquals(1, tries);
        store.spillAll();
        assertEquals(2, tries);
        chunks.forEach(SlabPool.Chunk::release);
    }

    @Test
    void filesOfAShuffleThatIsRemovedWhileItIsSpilledAreDeleted() throws IOException {
        write(1, 8);
        atCommit = () -> store.removeShuffle(1);
        store.spillAll();
        assertEquals(0, disk.toFile().list().length);
        assertEquals(0, store.usedBytes());
        assertEquals(0, store.spilledBytes());
    }
}
