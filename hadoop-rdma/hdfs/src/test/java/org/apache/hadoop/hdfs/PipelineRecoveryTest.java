// SPDX-License-Identifier: Apache-2.0
package org.apache.hadoop.hdfs;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.util.Arrays;
import java.util.Map;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import org.apache.hadoop.fs.FSDataOutputStream;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.hdfs.protocol.DatanodeInfo;
import org.apache.hadoop.hdfs.protocol.LocatedBlock;
import org.apache.hadoop.hdfs.server.datanode.DataNode;
import org.apache.hadoop.hdfs.server.datanode.XceiverBridge;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.api.condition.EnabledIfEnvironmentVariable;
import org.junit.jupiter.api.io.TempDir;
import org.verbena.hadoop.hdfs.VerbenaFileSystem;

/** Bytes that were flushed or closed, and DataNodes that go away or are damaged, with our writer and receiver. */
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
final class PipelineRecoveryTest {
    private static final int NODES = 4;
    private static final int OFFSET = 2349;
    private static final int CHUNK = 512;
    private static final int APPENDS = 4;
    private static final int RECORD = 700;
    private static final String ALWAYS = "dfs.client.block.write.replace-datanode-on-failure.policy=ALWAYS";
    /** Longer than a DataNode waits for a client that says nothing. */
    private static final long IDLE_SECONDS = 75;

    private java.nio.file.Path work;
    private LocalHdfs cluster;
    private DistributedFileSystem files;

    @BeforeAll
    void start(@TempDir java.nio.file.Path folder) throws Exception {
        work = folder;
        cluster = new LocalHdfs(work, LocalHdfs.byCore(OFFSET), Map.of("dfs.blocksize", Integer.toString(1 << 20),
            "fs.hdfs.impl", VerbenaFileSystem.class.getName(), "dfs.client.retry.interval-ms.get-last-block-length", "10"));
        for (int i = 0; i < NODES; i++) {
            start(i);
        }
        cluster.untilLive(NODES);
        files = cluster.client();
        // The first streams go by TCP while the plugins start. Later, too, those to a DataNode whose greeting's port somebody has.
        LocalHdfs.until("blocks go to our receiver", () -> {
            long before = XceiverBridge.blocksTaken();
            try {
                write("/first", new byte[1]);
            } catch (IOException e) {
                throw new UncheckedIOException(e);
            }
            return XceiverBridge.blocksTaken() > before;
        });
    }

    private DataNode start(int number) throws IOException, InterruptedException {
        return cluster.start(folder(number).toUri().toString());
    }

    private java.nio.file.Path folder(int number) {
        return work.resolve("data" + number);
    }

    @AfterAll
    void stop() throws IOException {
        files.close();
        cluster.close();
    }

    private DataNode at(DatanodeInfo place) {
        return cluster.dataNodes().stream().filter(node -> node.getDatanodeUuid().equals(place.getDatanodeUuid())).findFirst()
            .orElseThrow();
    }

    /** The DataNodes that a flushed file is being written to, the client's first. */
    private static DatanodeInfo[] pipeline(FSDataOutputStream out) {
        return ((DFSOutputStream) out.getWrappedStream()).getPipeline();
    }

    /** Which folder a DataNode has. */
    private int number(DataNode node) throws IOException {
        for (int i = 0; i < NODES; i++) {
            if (Files.readString(folder(i).resolve("current/VERSION")).contains(node.getDatanodeUuid())) {
                return i;
            }
        }
        throw new AssertionError(node + " has no folder");
    }

    private void write(String name, byte[] content) throws IOException {
        try (FSDataOutputStream out = files.create(new Path(name))) {
            out.write(content);
        }
    }

    private static byte[] part(byte[] all, int from, int to) {
        return Arrays.copyOfRange(all, from, to);
    }

    @Test
    void flushed_bytes_of_an_open_file_are_readable_after_its_only_data_node_has_restarted() throws Exception {
        byte[] content = LocalHdfs.content(1000);
        Path path = new Path("/open");
        DistributedFileSystem writer = cluster.client("dfs.replication=1");
        try (DistributedFileSystem reader = cluster.client()) {
            FSDataOutputStream out = writer.create(path); // it stays open
            out.write(content);
            out.hflush();
            DataNode only = at(LocalHdfs.block(files, path).getLocations()[0]);
            int number = number(only);
            cluster.stop(only);
            start(number);
            LocalHdfs.until("the file is closed", () -> {
                try {
                    return reader.recoverLease(path);
                } catch (IOException e) {
                    throw new UncheckedIOException(e);
                }
            });
            try (var in = reader.open(path)) {
                assertArrayEquals(content, in.readAllBytes());
            }
        } finally {
            closeLate(writer);
        }
        assertTrue(files.isFileClosed(path));
        cluster.untilLive(NODES);
    }

    private static void closeLate(DistributedFileSystem writer) {
        try {
            writer.close();
        } catch (IOException e) {
            assertTrue(e.getMessage() != null, e.toString()); // it has lost its lease
        }
    }

    /** The others have bytes beyond the last acknowledged one, in the same chunk and behind it, when one of them is copied. */
    @Test
    void a_replica_that_is_copied_within_a_chunk_is_the_same_as_the_others() throws Exception {
        for (int acked : new int[] {129 * CHUNK - 1, 129 * CHUNK, 129 * CHUNK + 1, 66_000}) {
            byte[] content = LocalHdfs.content(acked + 2000);
            Path path = new Path("/copied" + acked);
            try (DistributedFileSystem writer = cluster.client(ALWAYS)) {
                int number;
                try (FSDataOutputStream out = writer.create(path)) {
                    out.write(content, 0, acked);
                    out.hflush();
                    DataNode last = at(pipeline(out)[2]);
                    number = number(last);
                    cluster.stop(last);
                    out.write(content, acked, 300);
                    out.hflush();
                    out.write(content, acked + 300, 1700);
                }
                assertTrue(LocalHdfs.isEverywhere(files, path, content, 3), "acked " + acked);
                start(number);
                cluster.untilLive(NODES);
            }
        }
    }

    /** The DataNode that gets the copy finds the damage, and the next copy is one of another replica. The error names the first. */
    @Test
    void a_replica_with_a_damaged_checksum_that_is_copied_costs_no_byte() throws Exception {
        byte[] content = LocalHdfs.content(200 * CHUNK);
        Path path = new Path("/damaged");
        int number;
        DatanodeInfo source;
        LoggedLines logged = new LoggedLines();
        try (logged; DistributedFileSystem writer = cluster.client(ALWAYS,
                "dfs.client.block.write.replace-datanode-on-failure.best-effort=true")) {
            try (FSDataOutputStream out = writer.create(path)) {
                out.write(content, 0, 100 * CHUNK);
                out.hflush();
                source = pipeline(out)[0];
                damage(folder(number(at(source))), LocalHdfs.block(files, path).getBlock().getBlockName());
                DataNode last = at(pipeline(out)[2]);
                number = number(last);
                cluster.stop(last);
                out.write(content, 100 * CHUNK, 50 * CHUNK);
                out.hflush();
                out.write(content, 150 * CHUNK, 50 * CHUNK);
            }
        }
        String pool = LocalHdfs.block(files, path).getBlock().getBlockPoolId(); // this JVM has DataNodes of other tests
        assertTrue(logged.with(":Failed to transfer " + pool).get(0).contains("datanodeUuid=" + source.getDatanodeUuid()));
        for (String line : logged.with("Terminating due to a checksum error. ", pool)) { // of our receiver
            assertTrue(line.contains(", a copy from DataNode " + source.getXferAddr()), line);
        }
        LocalHdfs.untilKnown(files, path, 2); // one of them is good
        try (var in = files.open(path)) {
            assertArrayEquals(content, in.readAllBytes());
        } finally {
            start(number);
            cluster.untilLive(NODES);
        }
    }

    /** Changes a byte of the checksums. */
    private static void damage(java.nio.file.Path folder, String block) throws IOException {
        LocalHdfs.damage(LocalHdfs.found(folder, name -> name.startsWith(block + "_")).get(0), 40);
    }

    /** The lengths that they know are those from before the other one's append. */
    @Test
    void two_that_append_with_lengths_of_earlier_have_all_their_records_in_the_file() throws Exception {
        Path path = new Path("/two");
        write("/two", LocalHdfs.content(1000));
        ExecutorService threads = Executors.newFixedThreadPool(2);
        Future<?> first = threads.submit(appends(path, (byte) 1));
        Future<?> second = threads.submit(appends(path, (byte) 2));
        first.get();
        second.get();
        threads.shutdown();
        byte[] all;
        try (var in = files.open(path)) {
            all = in.readAllBytes();
        }
        assertEquals(1000 + 2 * APPENDS * RECORD, all.length);
        int[] found = new int[3];
        for (int at = 1000; at < all.length; at += RECORD) {
            byte[] whole = new byte[RECORD];
            Arrays.fill(whole, all[at]);
            assertArrayEquals(whole, part(all, at, at + RECORD), "record at " + at);
            found[all[at]]++;
        }
        assertArrayEquals(new int[] {0, APPENDS, APPENDS}, found);
        assertTrue(LocalHdfs.isEverywhere(files, path, all, 3));
    }

    private Callable<Void> appends(Path path, byte value) {
        byte[] record = new byte[RECORD];
        Arrays.fill(record, value);
        return () -> {
            try (DistributedFileSystem own = cluster.client()) {
                for (int done = 0; done < APPENDS; ) {
                    own.getFileStatus(path).getLen();
                    FSDataOutputStream out;
                    try {
                        out = own.append(path);
                    } catch (IOException e) { // the other one has the file
                        Thread.sleep(1);
                        continue;
                    }
                    out.write(record);
                    out.close();
                    done++;
                }
            }
            return null;
        };
    }

    @Test
    @EnabledIfEnvironmentVariable(named = "VERBENA_TEST_FULL", matches = "1")
    void a_writer_that_has_been_idle_goes_on_in_the_same_pipeline() throws Exception {
        byte[] content = LocalHdfs.content(2);
        Path path = new Path("/idle");
        try (FSDataOutputStream out = files.create(path)) {
            out.write(content, 0, 1);
            out.hflush();
            LocatedBlock before = LocalHdfs.block(files, path);
            TimeUnit.SECONDS.sleep(IDLE_SECONDS);
            out.write(content, 1, 1);
            out.hflush();
            assertEquals(before.getBlock().getGenerationStamp(), LocalHdfs.block(files, path).getBlock().getGenerationStamp());
        }
        assertTrue(LocalHdfs.isEverywhere(files, path, content, 3));
    }
}
