// SPDX-License-Identifier: Apache-2.0
package org.apache.hadoop.hdfs.server.datanode;

import static org.apache.hadoop.hdfs.server.datanode.ReceiverCluster.path;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.lang.reflect.Field;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.ChecksumException;
import org.apache.hadoop.fs.FSDataInputStream;
import org.apache.hadoop.fs.FSDataOutputStream;
import org.apache.hadoop.fs.FileRange;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.Options.ChecksumOpt;
import org.apache.hadoop.fs.permission.FsPermission;
import org.apache.hadoop.hdfs.DistributedFileSystem;
import org.apache.hadoop.hdfs.LocalHdfs;
import org.apache.hadoop.hdfs.protocol.ExtendedBlock;
import org.apache.hadoop.hdfs.server.datanode.metrics.DataNodeMetrics;
import org.apache.hadoop.metrics2.lib.MutableCounterLong;
import org.apache.hadoop.util.DataChecksum;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.verbena.hadoop.hdfs.VerbenaFileSystem;

/** Hadoop's client reads, with block tokens, and DataNodes answer by {@link OwnReads}. */
class OwnReadsTest {
    private static final int SIZE = 200_001;
    private static final int RANGES = 100;
    private static final List<String> COUNTERS = List.of("bytesRead", "blocksRead", "remoteBytesRead", "readsFromRemoteClient",
        "readsFromLocalClient");

    @TempDir
    private static Path work;

    private static ReceiverCluster cluster;

    @BeforeAll
    static void start() throws Exception {
        cluster = new ReceiverCluster(work, Map.of("dfs.block.access.token.enable", "true",
            "dfs.block.scanner.volume.bytes.per.second", "0"));
    }

    @AfterAll
    static void stop() throws IOException {
        cluster.close();
    }

    private static void write(String name, byte[] content) throws IOException, InterruptedException {
        try (FSDataOutputStream out = cluster.files().create(path(name))) {
            out.write(content);
        }
        LocalHdfs.untilKnown(cluster.files(), path(name), cluster.files().getDefaultReplication(path(name)));
    }

    private static ExtendedBlock block(String name) throws IOException {
        return cluster.files().getClient().getLocatedBlocks("/" + name, 0).get(0).getBlock();
    }

    private static byte[] read(String name, long place, int count) throws IOException {
        byte[] bytes = new byte[count];
        try (FSDataInputStream in = cluster.files().open(path(name))) {
            in.readFully(place, bytes, 0, count);
        }
        return bytes;
    }

    private static void assertReads(byte[] content, String name) throws IOException {
        int[][] ranges = {{0, 1}, {0, 512}, {511, 2}, {512, 4096}, {70_000, 4096}, {1, 65_536}, {content.length - 1, 1},
            {content.length - 700, 700}, {content.length - 4096, 4096}};
        for (int[] range : ranges) {
            assertArrayEquals(Arrays.copyOfRange(content, range[0], range[0] + range[1]), read(name, range[0], range[1]),
                name + " at " + range[0]);
        }
    }

    /** Files of the block that this process has open. */
    private static long open(ExtendedBlock block) {
        try (Stream<Path> all = Files.list(Path.of("/proc/self/fd"))) {
            return all.filter(one -> {
                try {
                    return Files.readSymbolicLink(one).getFileName().toString().startsWith(block.getBlockName());
                } catch (IOException e) {
                    return false; // closed meanwhile
                }
            }).count();
        } catch (IOException e) {
            throw new AssertionError(e);
        }
    }

    @Test
    void small_reads_are_answered_and_large_ones_are_hadoops() throws Exception {
        byte[] content = ReceiverCluster.content(SIZE);
        write("reads", content);
        long taken = OwnReads.TAKEN.sum();
        assertReads(content, "reads");
        assertEquals(9, OwnReads.TAKEN.sum() - taken);
        long left = OwnReads.LEFT.sum();
        assertArrayEquals(Arrays.copyOfRange(content, 5, 5 + 65_537), read("reads", 5, 65_537));
        assertEquals(1, OwnReads.LEFT.sum() - left);
        assertEquals(9, OwnReads.TAKEN.sum() - taken);
    }

    /** A client with our file system. */
    private static FileSystem ours() throws IOException {
        Configuration own = new Configuration(cluster.conf());
        own.set("fs.hdfs.impl", VerbenaFileSystem.class.getName());
        return FileSystem.newInstance(own);
    }

    @Test
    void requests_that_come_before_the_last_answer_has_left_are_answered_in_their_order() throws Exception {
        byte[] content = ReceiverCluster.content(3 * ReceiverCluster.BLOCK);
        write("ahead", content);
        long taken = OwnReads.TAKEN.sum();
        long left = OwnReads.LEFT.sum();
        List<FileRange> ranges = IntStream.range(0, RANGES).mapToObj(i -> FileRange.createFileRange(30_001L * i, 4096)).toList();
        try (FileSystem files = ours(); FSDataInputStream in = files.open(path("ahead"))) {
            in.readVectored(ranges, ByteBuffer::allocate);
        }
        for (FileRange range : ranges) {
            assertEquals(ByteBuffer.wrap(content, (int) range.getOffset(), range.getLength()), range.getData().get());
        }
        assertTrue(OwnReads.TAKEN.sum() - taken >= RANGES, "answered: " + (OwnReads.TAKEN.sum() - taken));
        assertEquals(0, OwnReads.LEFT.sum() - left);
    }

    @Test
    void a_block_that_is_gone_is_found_out_by_hadoop_amid_requests_for_others() throws Exception {
        byte[] content = ReceiverCluster.content(3 * ReceiverCluster.BLOCK);
        write("amid", content);
        ExtendedBlock second = cluster.files().getClient().getLocatedBlocks("/amid", 0).get(1).getBlock();
        for (Path replica : cluster.replicas(second).subList(0, 2)) {
            Files.delete(replica);
        }
        List<FileRange> ranges = IntStream.range(0, RANGES).mapToObj(i -> FileRange.createFileRange(30_001L * i, 4096)).toList();
        try (FileSystem files = ours(); FSDataInputStream in = files.open(path("amid"))) {
            in.readVectored(ranges, ByteBuffer::allocate);
        }
        for (FileRange range : ranges) {
            assertEquals(ByteBuffer.wrap(content, (int) range.getOffset(), range.getLength()), range.getData().get());
        }
    }

    @Test
    void all_kinds_of_checksums_and_none_are_read_right() throws IOException {
        byte[] content = ReceiverCluster.content(SIZE);
        for (DataChecksum.Type type : new DataChecksum.Type[] {DataChecksum.Type.CRC32, DataChecksum.Type.CRC32C,
            DataChecksum.Type.NULL}) {
            for (int chunk : new int[] {512, 4096, 65_536}) {
                String name = "sums-" + type + chunk;
                try (FSDataOutputStream out = cluster.files().create(path(name), FsPermission.getFileDefault(),
                    java.util.EnumSet.of(org.apache.hadoop.fs.CreateFlag.CREATE), 4096, (short) 3, ReceiverCluster.BLOCK, null,
                    new ChecksumOpt(type, chunk))) {
                    out.write(content);
                }
                assertReads(content, name);
            }
        }
        long taken = OwnReads.TAKEN.sum();
        cluster.files().setVerifyChecksum(false);
        try {
            assertReads(content, "sums-CRC32C512");
        } finally {
            cluster.files().setVerifyChecksum(true);
        }
        assertEquals(9, OwnReads.TAKEN.sum() - taken);
    }

    @Test
    void what_is_appended_or_cut_off_is_read_right() throws Exception {
        byte[] content = ReceiverCluster.content(SIZE);
        write("grows", content);
        int length = SIZE;
        for (int step = 1; step < 6; step++) {
            byte[] more = ReceiverCluster.content(SIZE + step * 1000);
            System.arraycopy(content, 0, more, 0, length);
            try (FSDataInputStream before = cluster.files().open(path("grows"));
                    FSDataOutputStream out = cluster.files().append(path("grows"))) {
                out.write(more, length, more.length - length);
                out.hflush();
                byte[] last = new byte[700];
                before.readFully(length - 700, last, 0, 700); // the chunk in which the append begins
                assertArrayEquals(Arrays.copyOfRange(more, length - 700, length), last);
                assertReads(more, "grows");
            }
            content = more;
            length = more.length;
            assertReads(content, "grows");
        }
        boolean done = cluster.files().truncate(path("grows"), SIZE - 333);
        ReceiverCluster.until("the file is cut", () -> done || isClosed("grows"));
        assertReads(Arrays.copyOf(content, SIZE - 333), "grows");
    }

    private static boolean isClosed(String name) {
        try {
            return cluster.files().isFileClosed(path(name));
        } catch (IOException e) {
            throw new AssertionError(e);
        }
    }

    @Test
    void files_of_deleted_and_of_unread_replicas_are_closed() throws Exception {
        write("deleted", ReceiverCluster.content(SIZE));
        write("unread", ReceiverCluster.content(SIZE));
        read("deleted", 1, 4096);
        ExtendedBlock deleted = block("deleted");
        ExtendedBlock unread = block("unread");
        try (FSDataInputStream in = cluster.files().open(path("unread"))) {
            ReceiverCluster.until("the block's files are open", () -> { // they may be closed before the look
                try {
                    in.readFully(1, new byte[4096], 0, 4096);
                } catch (IOException e) {
                    throw new AssertionError(e);
                }
                return open(unread) == 2;
            });
        }
        cluster.files().delete(path("deleted"), false);
        ReceiverCluster.until("the deleted block's files are closed", () -> open(deleted) == 0);
        ReceiverCluster.until("the unread block's files are closed", () -> open(unread) == 0);
    }

    @Test
    void a_damaged_replica_is_left_for_another() throws Exception {
        byte[] content = ReceiverCluster.content(SIZE);
        write("damaged", content);
        ExtendedBlock block = block("damaged");
        for (Path replica : cluster.replicas(block).subList(0, 2)) {
            ReceiverCluster.damage(replica, 5000);
        }
        assertArrayEquals(Arrays.copyOfRange(content, 4096, 8192), read("damaged", 4096, 4096));
    }

    @Test
    void a_replica_that_is_damaged_everywhere_fails_as_with_hadoop() throws Exception {
        write("lost", ReceiverCluster.content(SIZE));
        for (Path replica : cluster.replicas(block("lost"))) {
            ReceiverCluster.damage(replica, 5000);
        }
        IOException failure = assertThrows(IOException.class, () -> read("lost", 4096, 4096));
        assertTrue(failure instanceof ChecksumException || failure instanceof org.apache.hadoop.hdfs.BlockMissingException,
            failure.toString());
    }

    @Test
    void a_missing_file_is_found_out_by_hadoop_and_another_replica_read() throws Exception {
        byte[] content = ReceiverCluster.content(SIZE);
        write("missing", content);
        for (Path replica : cluster.replicas(block("missing")).subList(0, 2)) {
            Files.delete(replica);
        }
        assertArrayEquals(Arrays.copyOfRange(content, 4096, 8192), read("missing", 4096, 4096));
    }

    /** Sums of all DataNodes. The reads of clients count last. */
    private static long[] metrics() {
        return COUNTERS.stream().mapToLong(name -> cluster.dataNodes().stream().mapToLong(node -> {
            try {
                Field counter = DataNodeMetrics.class.getDeclaredField(name);
                counter.setAccessible(true);
                return ((MutableCounterLong) counter.get(node.getMetrics())).value();
            } catch (ReflectiveOperationException e) {
                throw new AssertionError(e);
            }
        }).sum()).toArray();
    }

    /** What some reads are counted as. */
    private static long[] counted(DistributedFileSystem files, byte[] content) throws Exception {
        int[] lengths = {1, 512, 4096, 65_536};
        LocalHdfs.closeConnections(cluster.files());
        ReceiverCluster.until("nobody reads any more", () -> cluster.dataNodes().stream().allMatch(
            node -> node.xserver.getNumPeers() == 0));
        long[] before = metrics();
        try (FSDataInputStream in = files.open(path("metrics"))) {
            for (int length : lengths) {
                byte[] bytes = new byte[length];
                in.readFully(511, bytes);
                assertArrayEquals(Arrays.copyOfRange(content, 511, 511 + length), bytes);
            }
        }
        int local = COUNTERS.size() - 1;
        ReceiverCluster.until("all reads are counted", () -> metrics()[local] - before[local] >= lengths.length);
        long[] after = metrics();
        LocalHdfs.closeConnections(files);
        return IntStream.range(0, after.length).mapToLong(i -> after[i] - before[i]).toArray();
    }

    @Test
    void metrics_of_data_nodes_are_those_of_hadoops_reader() throws Exception {
        byte[] content = ReceiverCluster.content(SIZE);
        write("metrics", content);
        Configuration own = new Configuration(cluster.conf());
        own.unset("hadoop.rpc.socket.factory.class.ClientProtocol"); // by TCP, where all reads are Hadoop's
        own.set("dfs.client.context", "tcp");
        long taken = OwnReads.TAKEN.sum();
        try (DistributedFileSystem byTcp = (DistributedFileSystem) FileSystem.newInstance(own)) {
            long[] expected = counted(byTcp, content);
            assertEquals(taken, OwnReads.TAKEN.sum());
            assertArrayEquals(expected, counted(cluster.files(), content), COUNTERS + ": " + Arrays.toString(expected));
        }
        assertEquals(4, OwnReads.TAKEN.sum() - taken);
    }

    @Test
    void an_open_file_is_read_up_to_what_was_flushed() throws Exception {
        byte[] content = ReceiverCluster.content(SIZE);
        try (FSDataOutputStream out = cluster.files().create(path("open"))) {
            out.write(content, 0, 10_001);
            out.hflush();
            assertArrayEquals(Arrays.copyOfRange(content, 5905, 10_001), read("open", 5905, 4096));
            out.write(content, 10_001, SIZE - 10_001);
        }
        assertReads(content, "open");
    }
}
