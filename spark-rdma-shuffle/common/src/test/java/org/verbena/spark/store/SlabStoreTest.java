// SPDX-License-Identifier: Apache-2.0
// The slab store on the real native library: streams, budget, spill, neighbours.
package org.verbena.spark.store;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.Arrays;
import java.util.Random;
import java.util.stream.Stream;
import org.apache.spark.network.buffer.ManagedBuffer;
import java.util.Set;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.verbena.core.VbnConfig;
import org.verbena.core.VbnContext;

@Timeout(60)
class SlabStoreTest {
    private static final int PARTITIONS = 20;
    private static final Path SHM = Path.of("/dev/shm");
    private static final String APPLICATION = "test-" + ProcessHandle.current().pid();

    @TempDir
    Path disk;
    private VbnContext context;
    private DataDirectory directory;
    private DiskFiles files;

    @BeforeEach
    void open() throws IOException {
        context = VbnContext.open(new VbnConfig().jobKey(new byte[32]));
        directory = DataDirectory.create(SHM, APPLICATION, disk.getFileName().toString(), Set.of("host"));
        files = new DiskFiles(disk);
    }

    private HostLocalSlabs neighbours() {
        return new HostLocalSlabs(context, SHM, APPLICATION);
    }

    @AfterEach
    void close() throws IOException {
        directory.close();
        context.close();
    }

    private SlabStore store(long budget) {
        return store(budget, false);
    }

    private SlabStore store(long budget, boolean checksums) {
        return new SlabStore(context, directory.path(), budget, 64 << 10, checksums, files);
    }

    private static byte[][] data(long seed, int scale) {
        Random random = new Random(seed);
        byte[][] data = new byte[PARTITIONS][];
        for (int p = 0; p < PARTITIONS; p++) {
            data[p] = new byte[p == 3 ? 0 : random.nextInt(scale)];
            random.nextBytes(data[p]);
        }
        return data;
    }

    /** Writes records of odd sizes to all partitions in turn. */
    private static void write(SlabStore store, int shuffle, long map, byte[][] data) throws IOException {
        OutputBuffer output = store.newOutput(shuffle, map, PARTITIONS);
        int[] at = new int[PARTITIONS];
        Random random = new Random(map);
        boolean more = true;
        while (more) {
            more = false;
            for (int p = 0; p < PARTITIONS; p++) {
                int n = Math.min(1 + random.nextInt(3000), data[p].length - at[p]);
                if (n > 0) {
                    OutputStream out = output.stream(p, false);
                    out.write(data[p][at[p]]);
                    out.write(data[p], at[p] + 1, n - 1);
                    at[p] += n;
                    more = true;
                }
            }
        }
        long[] lengths = output.commit();
        for (int p = 0; p < PARTITIONS; p++) {
            assertEquals(data[p].length, lengths[p]);
        }
    }

    private static byte[] concatenate(byte[][] data, int start, int end) {
        ByteArrayOutputStream out = new ByteArrayOutputStream();
        for (int p = start; p < end; p++) {
            out.writeBytes(data[p]);
        }
        return out.toByteArray();
    }

    private ManagedBuffer buffer(SlabStore store, int shuffle, long map, int start, int end) throws IOException {
        MapOutput output = store.find(shuffle, map);
        return output == null ? files.open(shuffle, map, start, end)
            : new SlabManagedBuffer(output, start, end, () -> files.open(shuffle, map, start, end));
    }

    private void assertOutput(SlabStore store, int shuffle, long map, byte[][] data) throws IOException {
        for (int p = 0; p < PARTITIONS; p++) {
            ManagedBuffer buffer = buffer(store, shuffle, map, p, p + 1);
            assertEquals(data[p].length, buffer.size());
            try (InputStream in = buffer.createInputStream()) {
                assertArrayEquals(data[p], in.readAllBytes());
            }
        }
        try (InputStream in = buffer(store, shuffle, map, 2, 9).createInputStream()) {
            assertArrayEquals(concatenate(data, 2, 9), in.readAllBytes());
        }
    }

    @Test
    void whatIsWrittenToAllPartitionsInTurnIsReadBack() throws IOException {
        try (SlabStore store = store(64 << 20)) {
            for (int scale : new int[] {2, 700, 300_000}) {
                write(store, 0, scale, data(scale, scale));
                assertNotNull(store.find(0, scale));
                assertOutput(store, 0, scale, data(scale, scale));
            }
            store.removeShuffle(0);
            assertNull(store.find(0, 700));
            assertEquals(0, store.usedBytes());
        }
    }

    @Test
    void partitionsWrittenOneAfterTheOtherShareChunks() throws IOException {
        byte[][] data = data(5, 40_000);
        try (SlabStore store = store(64 << 20)) {
            OutputBuffer output = store.newOutput(1, 2, PARTITIONS);
            for (int p = 0; p < PARTITIONS; p++) {
                try (OutputStream out = output.stream(p, true)) {
                    out.write(data[p]);
                }
            }
            output.commit();
            assertOutput(store, 1, 2, data);
            long total = concatenate(data, 0, PARTITIONS).length;
            assertTrue(store.usedBytes() < total + (2 << 20), store.usedBytes() + " for " + total);
        }
    }

    @Test
    void aSecondAttemptOfAMapReplacesTheFirst() throws IOException {
        try (SlabStore store = store(64 << 20)) {
            write(store, 0, 1, data(3, 700));
            write(store, 0, 1, data(5, 900));
            assertOutput(store, 0, 1, data(5, 900));
            store.removeShuffle(0);
            assertEquals(0, store.usedBytes());
        }
    }

    @Test
    void tinyBlocksDoNotWasteTheBudget() throws IOException {
        try (SlabStore store = store(64 << 20)) {
            for (int map = 0; map < 50; map++) {
                write(store, 0, map, data(map, 700));
            }
            assertTrue(store.usedBytes() < 50L * (80 << 10), "used " + store.usedBytes());
        }
    }

    /** Chunks grow with an output; the last one is not kept for what did not come. */
    @Test
    void anOutputWrittenPartitionAfterPartitionTakesAboutItsBytes() throws IOException {
        try (SlabStore store = store(64 << 20)) {
            for (int size : new int[] {100, 20_000, 70_000, 700_000}) {
                long before = store.usedBytes();
                OutputBuffer output = store.newOutput(1, size, 2000);
                for (int partition = 0; partition < 2000; partition++) {
                    try (OutputStream out = output.stream(partition, true)) {
                        out.write(new byte[size / 2000 + 1]);
                    }
                }
                output.commit();
                long bytes = 2000L * (size / 2000 + 1);
                long index = MapIndex.bytes(2000, 2010, 0);
                long taken = store.usedBytes() - before;
                assertTrue(taken <= bytes + index + (8 << 10),
                    taken + " bytes of slabs for " + bytes + " and an index of " + index);
            }
        }
    }

    @Test
    void theSmallPartitionsOfAMapLieTogetherInOneChunk() throws IOException {
        byte[][] data = data(8, 700);
        try (SlabStore store = store(64 << 20)) {
            write(store, 0, 1, data);
            long total = concatenate(data, 0, PARTITIONS).length;
            long index = MapIndex.bytes(PARTITIONS, PARTITIONS, 0);
            assertTrue(store.usedBytes() < total + index + 2 * 64, store.usedBytes() + " for " + total);
            assertOutput(store, 0, 1, data);
        }
    }

    @Test
    void theOldestOutputsGoToFilesWhenTheBudgetIsExceeded() throws IOException {
        try (SlabStore store = store(8 << 20)) {
            for (int map = 0; map < 12; map++) {
                write(store, 7, map, data(map, 200_000));
            }
            assertTrue(store.reservedBytes() <= 8 << 20);
            assertTrue(store.spilledBytes() > 0);
            assertTrue(store.spilledOutputs() > 0 && store.spilledOutputs() < 12);
            assertNull(store.find(7, 0));
            assertNotNull(store.find(7, 11));
            for (int map = 0; map < 12; map++) {
                assertOutput(store, 7, map, data(map, 200_000));
            }
            store.removeShuffle(7);
            assertEquals(0, store.usedBytes());
            assertEquals(0, disk.toFile().list().length);
        }
    }

    @Test
    void theBudgetFollowsTheNumberOfExecutorsThatShareIt() throws IOException {
        try (SlabStore store = store(64 << 20);
                DataDirectory other = DataDirectory.create(SHM, APPLICATION, disk.getFileName() + "-other", Set.of("host"))) {
            store.follow(() -> (64L << 20) / directory.executors().applyAsInt("host"));
            write(store, 1, 1, data(1, 1000));
            assertEquals(32 << 20, store.budgetBytes());
            assertEquals(2, other.executors().applyAsInt("host"));
        }
        assertEquals(1, directory.executors().applyAsInt("host"));
    }

    @Test
    void memoryThatAShuffleHasLeftGoesBackAndTheNextOneWorksAsBefore() throws Exception {
        try (SlabStore store = store(16 << 20); HostLocalSlabs neighbours = neighbours()) {
            for (int shuffle = 1; shuffle <= 3; shuffle++) {
                byte[][] data = data(shuffle, 100_000);
                write(store, shuffle, 1, data);
                MapIndex index = neighbours.find(new String[] {disk.toString()}, shuffle, 1);
                assertNotNull(index);
                store.trim(0);
                assertTrue(index.isLive(), "a slab with an output stays");
                assertOutput(store, shuffle, 1, data);
                assertTrue(mapped("(deleted)") == 0 && mapped("/slab-") > 0);
                store.removeShuffle(shuffle);
                store.trim(3_600_000_000_000L);
                assertTrue(store.reservedBytes() > 0, "it was used just now");
                store.trim(0);
                assertEquals(0, store.reservedBytes());
                assertTrue(!index.isLive());
                neighbours.prune();
                index = null;
                while (mapped("/slab-") > 0) { // ended by the test's time-out
                    System.gc();
                    Thread.sleep(10);
                }
            }
        }
    }

    /** Mappings of this process whose line has such a text, of slabs of this test. */
    private long mapped(String text) throws IOException {
        try (Stream<String> lines = Files.lines(Path.of("/proc/self/maps"))) {
            return lines.filter(line -> line.contains(directory.path() + "/slab-") && line.contains(text)).count();
        }
    }

    @Test
    void anOutputLargerThanTheBudgetBecomesAFile() throws IOException {
        byte[][] data = data(1, 2_000_000);
        try (SlabStore store = store(4 << 20)) {
            write(store, 3, 4, data);
            assertNull(store.find(3, 4));
            assertOutput(store, 3, 4, data);
            assertEquals(0, store.usedBytes());
        }
    }

    @Test
    void anOutputThatCannotBePublishedInMemoryBecomesAFile() throws IOException {
        byte[][] data = data(6, 50_000);
        try (SlabStore store = store(16 << 20)) {
            Files.createDirectories(directory.path().resolve("m-3-5").resolve("in the way"));
            write(store, 3, 5, data);
            assertNull(store.find(3, 5));
            assertOutput(store, 3, 5, data);
            assertEquals(0, store.usedBytes());
            Files.delete(directory.path().resolve("m-3-5").resolve("in the way"));
            Files.delete(directory.path().resolve("m-3-5"));
        }
    }

    @Test
    void removingAnOutputWaitsForItsReaders() throws IOException {
        byte[][] data = data(9, 300_000);
        try (SlabStore store = store(16 << 20)) {
            write(store, 0, 1, data);
            InputStream in = buffer(store, 0, 1, 0, PARTITIONS).createInputStream();
            byte[] head = in.readNBytes(1000);
            assertEquals(concatenate(data, 0, PARTITIONS).length, store.pinnedBytes());
            store.removeShuffle(0);
            assertTrue(store.usedBytes() > 0);
            write(store, 1, 1, data(10, 300_000));
            ByteArrayOutputStream all = new ByteArrayOutputStream();
            all.writeBytes(head);
            all.writeBytes(in.readAllBytes());
            assertArrayEquals(concatenate(data, 0, PARTITIONS), all.toByteArray());
            in.close();
            assertEquals(0, store.pinnedBytes());
            store.removeShuffle(1);
            assertEquals(0, store.usedBytes());
        }
    }

    @Test
    void anAbortedOutputLeavesNothing() throws IOException {
        try (SlabStore store = store(16 << 20)) {
            OutputBuffer output = store.newOutput(0, 1, PARTITIONS);
            output.stream(4, false).write(new byte[1 << 20]);
            output.abort();
            assertEquals(0, store.usedBytes());
            assertNull(store.find(0, 1));
        }
    }

    @Test
    void aNeighbourReadsMappedSlabsAndGoesOnInTheFileWhenTheOutputIsSpilled() throws IOException {
        byte[][] data = data(11, 200_000);
        try (SlabStore store = store(16 << 20); HostLocalSlabs neighbours = neighbours()) {
            write(store, 5, 6, data);
            String[] directories = {disk.toString()};
            MapIndex index = neighbours.find(directories, 5, 6);
            assertNotNull(index);
            HostLocalBuffer buffer = new HostLocalBuffer(index, 0, PARTITIONS, () -> files.open(5, 6, 0, PARTITIONS));
            byte[] all = concatenate(data, 0, PARTITIONS);
            assertEquals(all.length, buffer.size());
            InputStream in = buffer.createInputStream();
            byte[] head = in.readNBytes(50_001);
            store.spillAll();
            write(store, 5, 7, data(12, 200_000));
            byte[] tail = in.readAllBytes();
            assertArrayEquals(Arrays.copyOf(all, head.length), head);
            assertArrayEquals(Arrays.copyOfRange(all, head.length, all.length), tail);
            assertNull(neighbours.find(directories, 5, 6));
            assertNotNull(neighbours.find(directories, 5, 7));
            assertNull(neighbours.find(directories, 5, 8));
        }
    }

    @Test
    void aDamagedEntryIsNotBelieved() throws IOException {
        try (SlabStore store = store(16 << 20); HostLocalSlabs neighbours = neighbours()) {
            write(store, 5, 6, data(1, 1000));
            for (String target : new String[] {"0:0:999999999:1", "0:-5:10:1", "x", "99:0:64:1", "0:0:64:1"}) {
                Path link = directory.path().resolve("m-5-9");
                Files.deleteIfExists(link);
                Files.createSymbolicLink(link, Path.of(target));
                assertNull(neighbours.find(new String[] {disk.toString()}, 5, 9), target);
            }
        }
    }

    @Test
    void slabsInADirectoryThatOthersMayEnterAreNotRead() throws IOException {
        String[] directories = {disk.toString()};
        try (SlabStore store = store(16 << 20); HostLocalSlabs neighbours = neighbours()) {
            write(store, 5, 6, data(1, 1000));
            Files.setPosixFilePermissions(directory.path(), PosixFilePermissions.fromString("rwxr-xr-x"));
            assertNull(neighbours.find(directories, 5, 6));
            Files.setPosixFilePermissions(directory.path(), PosixFilePermissions.fromString("rwx------"));
            assertNotNull(neighbours.find(directories, 5, 6));
        }
    }

    @Test
    void aPartitionWithADamagedByteIsFoundByItsChecksumHereAndByNeighboursAndTheOthersAreRight() throws IOException {
        byte[][] data = data(9, 100_000);
        try (SlabStore store = store(16 << 20, true); HostLocalSlabs neighbours = neighbours()) {
            write(store, 5, 6, data);
            MapIndex own = store.find(5, 6).index();
            MapIndex seen = neighbours.find(new String[] {disk.toString()}, 5, 6);
            own.verify(0, PARTITIONS);
            seen.verify(0, PARTITIONS);
            ByteBuffer[] pieces = own.pieces(7, 8);
            ByteBuffer last = pieces[pieces.length - 1];
            last.put(last.limit() - 1, (byte) (last.get(last.limit() - 1) ^ 1));
            for (MapIndex index : new MapIndex[] {own, seen}) {
                index.verify(0, 7);
                index.verify(8, PARTITIONS);
                assertTrue(assertThrows(MapIndex.Damaged.class, () -> index.verify(0, PARTITIONS)).getMessage()
                    .startsWith("partition 7 has the CRC-32C "));
            }
        }
    }

    @Test
    void withoutChecksumsNothingIsCompared() throws IOException {
        try (SlabStore store = store(16 << 20)) {
            write(store, 5, 6, data(9, 1000));
            MapIndex index = store.find(5, 6).index();
            ByteBuffer piece = index.pieces(7, 8)[0];
            piece.put(0, (byte) (piece.get(0) ^ 1));
            index.verify(0, PARTITIONS);
        }
    }

    @Test
    void partitionsThatDoNotExistAreRefused() throws IOException {
        try (SlabStore store = store(16 << 20)) {
            write(store, 5, 6, data(1, 1000));
            MapOutput output = store.find(5, 6);
            assertThrows(IOException.class, () -> output.index().length(0, PARTITIONS + 1));
            assertThrows(IOException.class, () -> output.index().pieces(-1, 1));
            assertThrows(IOException.class, () -> output.index().pieces(5, 4));
        }
    }
}
