// SPDX-License-Identifier: Apache-2.0
package org.apache.hadoop.hdfs;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.lang.reflect.Field;
import java.util.ArrayList;
import java.util.EnumSet;
import java.util.List;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.CreateFlag;
import org.apache.hadoop.fs.FSDataOutputStream;
import org.apache.hadoop.fs.FileContext;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.hdfs.protocol.DSQuotaExceededException;
import org.apache.hadoop.hdfs.protocol.HdfsConstants;
import org.apache.hadoop.hdfs.protocol.datatransfer.PipelineAck;
import org.apache.hadoop.hdfs.protocol.proto.DataTransferProtos.BlockOpResponseProto;
import org.apache.hadoop.hdfs.protocol.proto.DataTransferProtos.Status;
import org.apache.hadoop.hdfs.server.namenode.NameNode;
import org.apache.hadoop.hdfs.server.namenode.metrics.NameNodeMetrics;
import org.apache.hadoop.metrics2.lib.MutableCounterLong;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.api.io.TempDir;
import org.verbena.hadoop.hdfs.VerbenaFileSystem;

/** Files of Hadoop's own DataNodes, with Hadoop's thread and without it. */
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
final class ParallelOutputStreamTest {
    private static final int LIMIT = 1 << 20; // the default
    private static final int TRIES = 100;
    private static final String BY_MIDDLEMEN =
        "hadoop.rpc.socket.factory.class.ClientProtocol=" + Middleman.Factory.class.getName();

    private WriteCluster cluster;
    private DistributedFileSystem files;

    @BeforeAll
    void start(@TempDir java.nio.file.Path work) throws Exception {
        cluster = new WriteCluster(work, 3);
        files = cluster.client();
    }

    @AfterAll
    void stop() throws IOException {
        files.close();
        cluster.close();
    }

    private static DFSOutputStream inner(FSDataOutputStream out) {
        return (DFSOutputStream) out.getWrappedStream();
    }

    private static boolean hasStreamed(DFSOutputStream stream) {
        return stream.getStreamer().getState() != Thread.State.NEW;
    }

    /** Writes a file of a test's own; whether Hadoop's thread did it. */
    private static boolean write(DistributedFileSystem by, String name, byte[] content) throws IOException {
        DFSOutputStream stream;
        try (FSDataOutputStream out = by.create(new Path(name))) {
            stream = inner(out);
            out.write(content);
        }
        return hasStreamed(stream);
    }

    private void assertIsEverywhere(String name, byte[] content) throws Exception {
        assertTrue(WriteCluster.isEverywhere(files, new Path(name), content, 3), name);
    }

    @Test
    void a_small_file_is_written_to_all_replicas_without_a_thread() throws Exception {
        for (int size : new int[] {1, 511, 512, 513, 4608, 65_024, 66_000, 300_000, LIMIT}) {
            byte[] content = WriteCluster.content(size);
            assertFalse(write(files, "/small" + size, content), size + " bytes");
            assertEquals(size, files.getFileStatus(new Path("/small" + size)).getLen());
            assertIsEverywhere("/small" + size, content);
        }
    }

    @Test
    void an_empty_file_has_no_block_and_needs_no_thread() throws Exception {
        assertFalse(write(files, "/empty", new byte[0]));
        assertEquals(0, files.getClient().getLocatedBlocks("/empty", 0).locatedBlockCount());
        assertFalse(files.getClient().getNamenode().getFileInfo("/empty") == null);
    }

    @Test
    void a_larger_file_and_one_of_whole_blocks_are_hadoops() throws Exception {
        for (int size : new int[] {LIMIT + 1, WriteCluster.BLOCK, WriteCluster.BLOCK + 1}) {
            byte[] content = WriteCluster.content(size);
            assertTrue(write(files, "/large" + size, content), size + " bytes");
            try (var in = files.open(new Path("/large" + size))) {
                assertArrayEquals(content, in.readAllBytes());
            }
        }
    }

    @Test
    void flushed_bytes_are_read_by_others_before_the_close() throws Exception {
        byte[] content = WriteCluster.content(10_000);
        for (boolean sync : new boolean[] {false, true}) {
            Path path = new Path("/flushed-" + sync);
            try (FSDataOutputStream out = files.create(path); DistributedFileSystem other = cluster.client()) {
                out.write(content, 0, 7000);
                if (sync) {
                    out.hsync();
                } else {
                    out.hflush();
                }
                try (var in = other.open(path)) {
                    assertArrayEquals(java.util.Arrays.copyOf(content, 7000), in.readAllBytes());
                }
                out.write(content, 7000, 3000);
            }
            assertIsEverywhere(path.toString(), content);
        }
    }

    @Test
    void an_appended_file_has_both_parts() throws Exception {
        byte[] content = WriteCluster.content(9_000);
        Path path = new Path("/appended");
        write(files, "/appended", java.util.Arrays.copyOf(content, 5_001));
        try (FSDataOutputStream out = files.append(path)) {
            out.write(content, 5_001, 3_999);
        }
        assertIsEverywhere("/appended", content);
    }

    @Test
    void a_file_of_one_mebibyte_has_few_packets() throws Exception {
        DFSOutputStream stream;
        try (FSDataOutputStream out = files.create(new Path("/few-packets"))) {
            stream = inner(out);
            out.write(WriteCluster.content(LIMIT));
        }
        assertFalse(hasStreamed(stream));
        // 63, 63, 126, 252, 504 KiB and the rest, then the end of the block; Hadoop's own stream has 18
        assertEquals(7, stream.getStreamer().getAndIncCurrentSeqno());
    }

    @Test
    void a_small_file_costs_the_name_node_one_create_and_one_block() throws Exception {
        long created = nameNodeCalls("createFileOps");
        long added = nameNodeCalls("addBlockOps");
        write(files, "/counted", WriteCluster.content(100_000));
        assertEquals(1, nameNodeCalls("createFileOps") - created);
        assertEquals(1, nameNodeCalls("addBlockOps") - added);
    }

    /** What a bean of the NameNode's tells is some seconds old. */
    private static long nameNodeCalls(String counter) throws ReflectiveOperationException {
        Field field = NameNodeMetrics.class.getDeclaredField(counter);
        field.setAccessible(true);
        return ((MutableCounterLong) field.get(NameNode.getNameNodeMetrics())).value();
    }

    @Test
    void many_open_files_hold_a_bounded_part_of_the_heap() throws Exception {
        byte[] content = WriteCluster.content(LIMIT);
        List<FSDataOutputStream> open = new ArrayList<>();
        long most = HeldBytes.limit() + 2L * LIMIT; // the packet that goes beyond it starts Hadoop's thread
        while (open.isEmpty() || !hasStreamed(inner(open.get(open.size() - 1)))) {
            open.add(files.create(new Path("/open" + open.size())));
            open.get(open.size() - 1).write(content);
            assertTrue(HeldBytes.held() <= most, HeldBytes.held() + " bytes");
        }
        assertTrue(open.size() > 2);
        for (FSDataOutputStream out : open) {
            out.close();
        }
        assertEquals(0, HeldBytes.held());
        assertIsEverywhere("/open0", content);
        assertIsEverywhere("/open" + (open.size() - 1), content);
    }

    @Test
    void the_only_data_node_may_restart() throws Exception {
        ByteArrayOutputStream answers = new ByteArrayOutputStream();
        BlockOpResponseProto.newBuilder().setStatus(Status.SUCCESS).setFirstBadLink("").build().writeDelimitedTo(answers);
        new PipelineAck(PipelineAck.UNKOWN_SEQNO, new int[] {PipelineAck.combineHeader(PipelineAck.ECN.DISABLED,
            PipelineAck.getRestartOOBStatus())}).write(answers);
        byte[] content = WriteCluster.content(3_000);
        List<Middleman> all = new ArrayList<>();
        for (int i = 0; i < 3; i++) { // the first replica of a file is on any of them
            all.add(new Middleman(cluster.dataNode(i).getXferPort(), 1).answer(answers.toByteArray()));
        }
        try (DistributedFileSystem one = cluster.client(BY_MIDDLEMEN, "dfs.replication=1")) {
            assertFalse(write(one, "/restarts", content));
        } finally {
            for (Middleman between : all) {
                between.close();
            }
        }
        assertTrue(WriteCluster.isEverywhere(files, new Path("/restarts"), content, 1));
    }

    @Test
    void a_file_context_writes_in_parallel_too() throws Exception {
        byte[] content = WriteCluster.content(70_000);
        FileContext context = FileContext.getFileContext(new Configuration(files.getConf()));
        DFSOutputStream stream;
        try (FSDataOutputStream out = context.create(new Path("/context"), EnumSet.of(CreateFlag.CREATE))) {
            stream = inner(out);
            out.write(content);
        }
        assertFalse(hasStreamed(stream));
        assertIsEverywhere("/context", content);
        try (FSDataOutputStream out = context.create(new Path("/context"), EnumSet.of(CreateFlag.APPEND))) {
            out.write(content);
        }
        assertEquals(140_000, files.getFileStatus(new Path("/context")).getLen());
    }

    /** As Spark has it with --jars: Hadoop's classes are those of the parent. */
    private static final class OwnLoader extends ClassLoader {
        private OwnLoader() {
            super(ParallelOutputStreamTest.class.getClassLoader());
        }

        @Override
        protected Class<?> loadClass(String name, boolean resolve) throws ClassNotFoundException {
            if (!name.startsWith("org.verbena.hadoop.") && !name.startsWith("org.apache.hadoop.hdfs.Parallel")
                && !name.startsWith("org.apache.hadoop.fs.Parallel")) {
                return super.loadClass(name, resolve);
            }
            Class<?> known = findLoadedClass(name);
            if (known != null) {
                return known;
            }
            try (InputStream in = getResourceAsStream(name.replace('.', '/') + ".class")) {
                byte[] code = in.readAllBytes();
                return defineClass(name, code, 0, code.length);
            } catch (IOException e) {
                throw new ClassNotFoundException(name, e);
            }
        }
    }

    @Test
    void in_another_class_loader_than_hadoops_it_is_hadoops_client() throws Exception {
        Class<?> loaded = new OwnLoader().loadClass(VerbenaFileSystem.class.getName());
        assertFalse(loaded == VerbenaFileSystem.class);
        try (DistributedFileSystem other = (DistributedFileSystem) loaded.getConstructor().newInstance()) {
            other.initialize(files.getUri(), files.getConf());
            assertTrue(write(other, "/other-loader", WriteCluster.content(1000)));
        }
        assertIsEverywhere("/other-loader", WriteCluster.content(1000));
    }

    @Test
    void in_another_class_loader_than_hadoops_a_file_context_is_refused_with_the_cure() throws Exception {
        Configuration conf = new Configuration(files.getConf());
        conf.setClassLoader(new OwnLoader());
        String told = String.valueOf(assertThrows(RuntimeException.class, () -> FileContext.getFileContext(conf)).getCause());
        assertTrue(told.contains("put it beside Hadoop's jars, or remove fs.AbstractFileSystem.hdfs.impl"), told);
    }

    @Test
    void a_limit_of_zero_is_hadoops_stream_and_without_small_reads_hadoops_client() throws Exception {
        try (DistributedFileSystem reads = cluster.client("verbena.hdfs.write.parallel.max=0")) {
            assertTrue(write(reads, "/reads", WriteCluster.content(1000)));
            try (FSDataOutputStream out = reads.create(new Path("/empty"))) {
                assertEquals(DFSOutputStream.class, out.getWrappedStream().getClass());
            }
        }
        try (DistributedFileSystem stock = cluster.client("verbena.hdfs.write.parallel.max=0", "verbena.hdfs.reader=stock")) {
            assertTrue(write(stock, "/stock", WriteCluster.content(1000)));
            assertEquals(DFSClient.class, stock.getClient().getClass());
        }
    }

    @Test
    void a_quota_is_told_at_the_close_and_the_file_is_closed() throws Exception {
        Path folder = new Path("/limited");
        files.mkdirs(folder);
        files.setQuota(folder, HdfsConstants.QUOTA_DONT_SET, WriteCluster.BLOCK);
        FSDataOutputStream out = files.create(new Path(folder, "file"));
        out.write(WriteCluster.content(1000));
        assertThrows(DSQuotaExceededException.class, out::close);
        assertTrue(files.isFileClosed(new Path(folder, "file")));
    }

    @Test
    void a_client_that_closes_closes_its_files() throws Exception {
        byte[] content = WriteCluster.content(20_000);
        DistributedFileSystem other = cluster.client();
        FSDataOutputStream out = other.create(new Path("/left-open"));
        out.write(content);
        assertEquals(1, other.getClient().getNumOfFilesBeingWritten());
        other.close();
        assertIsEverywhere("/left-open", content);
    }

    @Test
    void a_file_that_another_client_takes_over_is_not_completed() throws Exception {
        FSDataOutputStream out = files.create(new Path("/taken"));
        out.write(WriteCluster.content(100));
        try (DistributedFileSystem other = cluster.client()) {
            WriteCluster.until("the lease is recovered", () -> {
                try {
                    return other.recoverLease(new Path("/taken"));
                } catch (IOException e) {
                    throw new AssertionError(e);
                }
            });
        }
        assertThrows(IOException.class, out::close);
        assertEquals(0, files.getFileStatus(new Path("/taken")).getLen());
    }

    /** Writes a file, of which one connection to a DataNode is troubled; whether Hadoop's thread wrote it. */
    private boolean writeBeside(Middleman between, DistributedFileSystem by, String name, byte[] content) throws IOException {
        try (between) {
            boolean streamed = write(by, name, content);
            for (int again = 0; between.connections() == 0 && again < TRIES; again++) { // the NameNode chooses DataNodes
                streamed = write(by, name, content);
            }
            assertTrue(between.connections() > 0, name + " had no connection to the DataNode");
            return streamed;
        }
    }

    @Test
    void a_connection_that_ends_anywhere_costs_no_byte() throws Exception {
        byte[] content = WriteCluster.content(150_000);
        int port = cluster.dataNode(1).getXferPort();
        List<String> names = new ArrayList<>();
        try (DistributedFileSystem troubled = cluster.client(BY_MIDDLEMEN)) {
            // before and within the request, behind it, within data, within and behind the last of it
            for (long bytes : new long[] {0, 1, 100, 400, 70_000, 140_000, 151_000}) {
                names.add("/requests" + bytes);
                assertTrue(writeBeside(new Middleman(port, 1).endAfterRequests(bytes), troubled, "/requests" + bytes, content));
            }
        }
        for (String name : names) {
            assertIsEverywhere(name, content);
        }
    }

    @Test
    void answers_that_end_or_are_false_cost_no_byte() throws Exception {
        byte[] content = WriteCluster.content(150_000);
        int port = cluster.dataNode(2).getXferPort();
        List<String> names = new ArrayList<>();
        try (DistributedFileSystem troubled = cluster.client(BY_MIDDLEMEN)) {
            for (int bytes = 0; bytes < 16; bytes++) { // the answer to the request, and acknowledgements
                names.add("/cut" + bytes);
                assertTrue(writeBeside(new Middleman(port, 1).endAfterAnswers(bytes), troubled, "/cut" + bytes, content));
                names.add("/false" + bytes);
                writeBeside(new Middleman(port, 1).falsify(bytes), troubled, "/false" + bytes, content); // some bits mean nothing
            }
        }
        for (String name : names) {
            assertIsEverywhere(name, content);
        }
    }
}
