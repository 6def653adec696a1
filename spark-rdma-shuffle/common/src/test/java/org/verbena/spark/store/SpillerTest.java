// SPDX-License-Identifier: Apache-2.0
// Which outputs go to disk, and when.
package org.verbena.spark.store;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.File;
import java.io.IOException;
import java.io.OutputStream;
import java.nio.file.Path;
import java.util.ArrayList;
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
class SpillerTest {
    private static final int MIB = 1 << 20;

    private static final int SMALL = 60_000;
    /** So many small outputs all fit, and leave less than an eighth. */
    private static final int MOST_OF_MEMORY = 124;

    @TempDir
    Path disk;
    private VbnContext context;
    private DataDirectory directory;
    private SlabStore store;
    private Runnable atBegin = () -> { };
    private int commits;

    @BeforeEach
    void open() throws IOException {
        DiskFiles files = new DiskFiles(disk) {
            @Override
            public synchronized File temporary(int shuffleId, long mapId) {
                atBegin.run();
                return super.temporary(shuffleId, mapId);
            }

            @Override
            public void commit(int shuffleId, long mapId, long[] sizes, long[] sums, File data) {
                commits++;
                super.commit(shuffleId, mapId, sizes, sums, data);
            }
        };
        context = VbnContext.open(new VbnConfig().jobKey(new byte[32]));
        directory = DataDirectory.create(Path.of("/dev/shm"), "spiller-" + ProcessHandle.current().pid(),
            disk.getFileName().toString());
        store = new SlabStore(context, directory.path(), 8 * MIB, 64 << 10, false, files);
    }

    @AfterEach
    void close() throws IOException {
        store.close();
        directory.close();
        context.close();
    }

    private void write(int shuffle, long map, int bytes) throws IOException {
        OutputBuffer output = store.newOutput(shuffle, map, 1);
        try (OutputStream out = output.stream(0, true)) {
            out.write(new byte[bytes]);
        }
        output.commit();
    }

    /** Takes all memory, and what is freed for it by one output that moves. */
    private List<SlabPool.Chunk> fill() {
        List<SlabPool.Chunk> chunks = new ArrayList<>();
        while (store.spilledOutputs() == 0) {
            chunks.add(store.allocate(MIB));
        }
        return chunks;
    }

    @Test
    void theLargestGoesFirst() throws IOException {
        write(1, 1, 60_000);
        write(1, 2, 4 * MIB);
        write(1, 3, 60_000);
        fill().forEach(SlabPool.Chunk::release);
        assertNull(store.find(1, 2));
        assertNotNull(store.find(1, 1));
        assertNotNull(store.find(1, 3));
    }

    @Test
    void ofEqualOnesTheOneGoesFirstThatWasNotUsedForLongest() throws IOException {
        for (int map = 1; map <= 3; map++) {
            write(1, map, 2 * MIB);
        }
        MapOutput first = store.find(1, 1);
        assertTrue(first.pin());
        first.unpin();
        fill().forEach(SlabPool.Chunk::release);
        assertNull(store.find(1, 2));
        assertNotNull(store.find(1, 1));
        assertNotNull(store.find(1, 3));
    }

    @Test
    void anEighthOfTheMemoryIsFreedBeforeATaskNeedsIt() throws Exception {
        for (int map = 0; map < MOST_OF_MEMORY; map++) {
            write(1, map, SMALL);
        }
        while (store.usedBytes() > 7 * MIB) { // ended by the test's time-out
            Thread.sleep(5);
        }
        assertTrue(store.spilledOutputs() > 0);
    }

    @Test
    void anOutputThatIsRemovedWhileItIsWrittenIsNotWrittenToItsEnd() throws IOException {
        write(1, 1, MIB);
        atBegin = () -> store.removeShuffle(1);
        store.spillAll();
        assertEquals(0, commits);
        assertEquals(0, disk.toFile().list().length);
        assertEquals(0, store.usedBytes());
    }

    @Test
    void closingEndsASpillThatIsUnderWay() throws Exception {
        Object reached = new Object();
        boolean[] there = new boolean[1];
        atBegin = () -> {
            synchronized (reached) {
                there[0] = true;
                reached.notifyAll();
            }
            try {
                Thread.sleep(60_000);
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
            }
        };
        for (int map = 0; map < MOST_OF_MEMORY; map++) {
            write(1, map, SMALL);
        }
        synchronized (reached) {
            while (!there[0]) {
                reached.wait();
            }
        }
        store.close();
        assertEquals(0, commits);
    }
}
