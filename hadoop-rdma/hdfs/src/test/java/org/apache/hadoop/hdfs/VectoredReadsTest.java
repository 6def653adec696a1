// SPDX-License-Identifier: Apache-2.0
package org.apache.hadoop.hdfs;

import static org.apache.hadoop.hdfs.WriteCluster.path;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.EOFException;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.concurrent.ExecutionException;
import java.util.function.IntFunction;
import java.util.stream.IntStream;
import org.apache.hadoop.fs.FSDataInputStream;
import org.apache.hadoop.fs.FSDataOutputStream;
import org.apache.hadoop.fs.FileRange;
import org.apache.hadoop.hdfs.server.datanode.DataNode;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Vectored reads by {@link VectoredRead} of Hadoop's own DataNodes, which have no plugin. */
class VectoredReadsTest {
    private static final int NODES = 2;
    /** Two blocks and a part. */
    private static final int SIZE = 2 * WriteCluster.BLOCK + 1_000_001;
    private static final int PIECE = 4096;
    private static final IntFunction<ByteBuffer> HEAP = ByteBuffer::allocate;

    @TempDir
    private static Path work;

    private static WriteCluster cluster;

    @BeforeAll
    static void start() throws Exception {
        WriteCluster.endHedgedReads(); // of another class
        cluster = new WriteCluster(work, NODES);
    }

    @AfterAll
    static void stop() throws IOException {
        cluster.close();
    }

    private static List<FileRange> ranges(int count, int distance, int length) {
        return IntStream.range(0, count).mapToObj(i -> FileRange.createFileRange((long) i * distance, length)).toList();
    }

    private static void assertRead(byte[] content, FileRange range) throws Exception {
        ByteBuffer bytes = range.getData().get();
        assertEquals(ByteBuffer.wrap(content, (int) range.getOffset(), range.getLength()), bytes, range.toString());
    }

    private static void read(DistributedFileSystem files, String name, List<FileRange> ranges) throws IOException {
        try (FSDataInputStream in = files.open(path(name))) {
            in.readVectored(ranges, HEAP);
        }
    }

    /** Reads, checks, and gives the numbers of answers and of messages with requests that it took. */
    private static long[] counted(DistributedFileSystem files, String name, byte[] content, List<FileRange> ranges)
            throws Exception {
        long answers = ReadConnection.ANSWERS.sum();
        long messages = ReadConnection.MESSAGES.sum();
        read(files, name, ranges);
        for (FileRange range : ranges) {
            assertRead(content, range);
        }
        return new long[] {ReadConnection.ANSWERS.sum() - answers, ReadConnection.MESSAGES.sum() - messages};
    }

    @Test
    void ranges_apart_are_asked_for_by_one_message_and_near_ones_together() throws Exception {
        try (DistributedFileSystem files = cluster.client()) {
            byte[] content = cluster.write(files, "counted", SIZE);
            assertArrayEquals(new long[] {16, 1}, counted(files, "counted", content, ranges(16, 100_000, PIECE)));
            assertArrayEquals(new long[] {1, 1}, counted(files, "counted", content, ranges(16, PIECE, PIECE)));
            assertArrayEquals(new long[] {2, 1}, counted(files, "counted", content, ranges(6, PIECE + (16 << 10) - 1, PIECE)));
            assertArrayEquals(new long[] {6, 1}, counted(files, "counted", content, ranges(6, PIECE + (16 << 10), PIECE)));
            long[] many = counted(files, "counted", content, ranges(40, 50_000, PIECE));
            assertEquals(40, many[0]);
            assertTrue(many[1] <= 5, "messages: " + many[1]);
        }
    }

    @Test
    void ranges_of_any_size_and_order_in_all_blocks_come_into_the_callers_buffers() throws Exception {
        try (DistributedFileSystem files = cluster.client(); DistributedFileSystem unchecked = cluster.client()) {
            byte[] content = cluster.write(files, "any", SIZE);
            unchecked.setVerifyChecksum(false);
            for (int seed = 0; seed < 20; seed++) {
                Random random = new Random(seed);
                List<FileRange> ranges = new ArrayList<>();
                for (int place = random.nextInt(5000); place < SIZE - 200_000; place += random.nextInt(500_000)) {
                    int length = random.nextInt(random.nextInt(10) == 0 ? 200_000 : 9000);
                    ranges.add(FileRange.createFileRange(place, length));
                    place += length;
                }
                ranges.add(FileRange.createFileRange(SIZE - 100, 100));
                Collections.shuffle(ranges, random);
                Map<ByteBuffer, Integer> given = new IdentityHashMap<>();
                boolean direct = seed % 2 == 0;
                try (FSDataInputStream in = (seed % 5 == 0 ? unchecked : files).open(path("any"))) {
                    in.readVectored(ranges, length -> {
                        ByteBuffer buffer = direct ? ByteBuffer.allocateDirect(length) : ByteBuffer.allocate(length);
                        given.put(buffer, length);
                        return buffer;
                    });
                }
                for (FileRange range : ranges) {
                    assertRead(content, range);
                    assertEquals(range.getLength(), given.remove(range.getData().get()), "seed " + seed);
                }
                assertTrue(given.isEmpty(), "seed " + seed);
            }
        }
    }

    @Test
    void a_range_beyond_the_end_fails_alone() throws Exception {
        try (DistributedFileSystem files = cluster.client()) {
            byte[] content = cluster.write(files, "end", SIZE);
            List<FileRange> ranges = List.of(FileRange.createFileRange(5, 10), FileRange.createFileRange(SIZE - 5, 10),
                FileRange.createFileRange(700_000, 4096), FileRange.createFileRange(SIZE + 50L, 10));
            read(files, "end", ranges);
            assertRead(content, ranges.get(0));
            assertRead(content, ranges.get(2));
            for (int late : new int[] {1, 3}) {
                ExecutionException failure = assertThrows(ExecutionException.class, () -> ranges.get(late).getData().get());
                assertInstanceOf(EOFException.class, failure.getCause());
            }
        }
    }

    @Test
    void invalid_ranges_are_refused_as_by_hadoop() throws Exception {
        List<List<FileRange>> wrong = List.of(Arrays.asList(FileRange.createFileRange(1, 1), null),
            List.of(FileRange.createFileRange(0, 10), FileRange.createFileRange(9, 10)),
            List.of(FileRange.createFileRange(0, 10), FileRange.createFileRange(20, -1)),
            List.of(FileRange.createFileRange(-1, 10), FileRange.createFileRange(20, 10)));
        try (DistributedFileSystem ours = cluster.client();
                DistributedFileSystem stock = cluster.client("verbena.hdfs.reader=stock")) {
            cluster.write(ours, "wrong", SIZE);
            long messages = ReadConnection.MESSAGES.sum();
            for (List<FileRange> ranges : wrong) {
                Exception expected = assertThrows(Exception.class, () -> read(stock, "wrong", ranges));
                Exception failure = assertThrows(Exception.class, () -> read(ours, "wrong", ranges));
                assertEquals(expected.toString(), failure.toString());
            }
            assertEquals(0, ReadConnection.MESSAGES.sum() - messages);
        }
    }

    @Test
    void a_buffer_that_the_caller_does_not_get_ends_the_read_and_not_the_stream() throws Exception {
        try (DistributedFileSystem files = cluster.client()) {
            byte[] content = cluster.write(files, "buffers", SIZE);
            IllegalStateException failure = new IllegalStateException("no more buffers");
            List<FileRange> ranges = ranges(10, 100_000, PIECE);
            try (FSDataInputStream in = files.open(path("buffers"))) {
                assertSame(failure, assertThrows(IllegalStateException.class, () -> in.readVectored(ranges, length -> {
                    if (ranges.get(3).getData() != null || ranges.get(2).getData() != null) {
                        throw failure;
                    }
                    return ByteBuffer.allocate(length);
                })));
                for (FileRange range : ranges(10, 90_000, PIECE)) { // whose answers come by connections that nothing is left in
                    byte[] bytes = new byte[PIECE];
                    in.readFully(range.getOffset(), bytes);
                    assertArrayEquals(Arrays.copyOfRange(content, (int) range.getOffset(), (int) range.getOffset() + PIECE), bytes);
                }
            }
            assertRead(content, ranges.get(0));
        }
    }

    @Test
    void a_damaged_replica_is_reported_and_the_rest_read_from_another() throws Exception {
        try (DistributedFileSystem files = cluster.client()) {
            byte[] content = cluster.write(files, "damaged", SIZE);
            WriteCluster.damage(cluster.replicas(files, "damaged").get(0), 5000);
            WriteCluster.until("the damage is found", () -> { // whichever replica is read first
                try {
                    counted(files, "damaged", content, ranges(10, 100_000, 8192));
                    return WriteCluster.block(files, path("damaged")).getLocations().length < NODES;
                } catch (Exception e) {
                    throw new AssertionError(e);
                }
            });
        }
    }

    @Test
    void damage_between_two_ranges_concerns_neither() throws Exception {
        try (DistributedFileSystem files = cluster.client()) {
            byte[] content = cluster.write(files, "between", SIZE);
            WriteCluster.damage(cluster.replicas(files, "between").get(0), 5000);
            for (int i = 0; i < 5; i++) {
                counted(files, "between", content, ranges(2, 8192, 512));
            }
            assertEquals(NODES, WriteCluster.block(files, path("between")).getLocations().length);
        }
    }

    @Test
    void a_stopped_data_node_costs_no_range(@TempDir Path folder) throws Exception {
        try (WriteCluster own = new WriteCluster(folder, NODES); DistributedFileSystem files = own.client()) {
            byte[] content = own.write(files, "stopped", SIZE);
            try (FSDataInputStream in = files.open(path("stopped"))) {
                in.readVectored(ranges(60, 130_000, PIECE), HEAP); // by a connection to each DataNode, if the lot says so
                own.stop(own.dataNode(0));
                List<FileRange> ranges = ranges(60, 130_000, PIECE);
                in.readVectored(ranges, HEAP);
                for (FileRange range : ranges) {
                    assertRead(content, range);
                }
            }
        }
    }

    @Test
    void a_data_node_that_ends_amid_a_vectored_read_costs_no_range(@TempDir Path folder) throws Exception {
        try (WriteCluster own = new WriteCluster(folder, NODES); DistributedFileSystem files = own.client()) {
            byte[] content = own.write(files, "amid", SIZE);
            List<FileRange> ranges = ranges(60, 130_000, PIECE);
            DataNode first = own.dataNode(0);
            try (FSDataInputStream in = files.open(path("amid"))) {
                in.readVectored(ranges, length -> { // a buffer for each range, when its turn has come
                    if (ranges.get(10).getData() != null && own.dataNodes().contains(first)) {
                        own.stop(first);
                    }
                    return ByteBuffer.allocate(length);
                });
            }
            assertEquals(NODES - 1, own.dataNodes().size());
            for (FileRange range : ranges) {
                assertRead(content, range);
            }
        }
    }

    @Test
    void data_nodes_that_end_a_connection_after_one_request_are_not_asked_ahead_again(@TempDir Path folder) throws Exception {
        try (WriteCluster own = new WriteCluster(folder, 1, Map.of("dfs.datanode.socket.reuse.keepalive", "0"));
                DistributedFileSystem files = own.client()) {
            byte[] content = own.write(files, "brief", SIZE);
            try (FSDataInputStream in = files.open(path("brief"))) {
                long answers = ReadConnection.ANSWERS.sum();
                for (int place = 0; place < 10; place++) { // each by a new connection, since the one of the cache has ended
                    byte[] bytes = new byte[PIECE];
                    in.readFully(place * 10_000L, bytes);
                    assertArrayEquals(Arrays.copyOfRange(content, place * 10_000, place * 10_000 + PIECE), bytes);
                }
                assertEquals(10, ReadConnection.ANSWERS.sum() - answers);
            }
            counted(files, "brief", content, ranges(16, 100_000, PIECE)); // all of which are asked for at once
            try (FSDataInputStream in = files.open(path("brief"))) {
                assertTrue(((SmallReadsInputStream) in.getWrappedStream()).oneRequestNodes().has(
                    WriteCluster.block(files, path("brief")).getLocations()[0]));
            }
            assertEquals(16, counted(files, "brief", content, ranges(16, 100_000, PIECE))[0]);
        }
    }

    @Test
    void data_nodes_that_keep_connections_are_asked_ahead_also_after_a_refusal() throws Exception {
        try (DistributedFileSystem files = cluster.client()) {
            byte[] content = cluster.write(files, "kept", SIZE);
            WriteCluster.damage(cluster.replicas(files, "kept").get(0), 5000);
            for (int i = 0; i < 3; i++) {
                counted(files, "kept", content, ranges(10, 100_000, 8192));
            }
            try (FSDataInputStream in = files.open(path("kept"))) {
                for (DataNode node : cluster.dataNodes()) {
                    assertFalse(((SmallReadsInputStream) in.getWrappedStream()).oneRequestNodes().has(node.getDatanodeId()));
                }
            }
        }
    }

    @Test
    void an_open_file_is_read_up_to_what_was_flushed() throws Exception {
        try (DistributedFileSystem files = cluster.client(); FSDataOutputStream out = files.create(path("open"), (short) NODES)) {
            byte[] content = WriteCluster.content(SIZE);
            out.write(content, 0, WriteCluster.BLOCK + 300_000);
            out.hflush();
            counted(files, "open", content, ranges(40, 100_000, PIECE));
        }
    }

    @Test
    void hedged_reads_are_hadoops() throws Exception {
        try (DistributedFileSystem files = cluster.client("dfs.client.hedged.read.threadpool.size=2",
            "dfs.client.hedged.read.threshold.millis=600000")) {
            byte[] content = cluster.write(files, "hedged", SIZE);
            assertArrayEquals(new long[] {5, 5}, counted(files, "hedged", content, ranges(5, 100_000, PIECE)));
        } finally {
            WriteCluster.endHedgedReads();
        }
    }
}
