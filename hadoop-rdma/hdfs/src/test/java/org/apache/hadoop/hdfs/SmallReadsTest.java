// SPDX-License-Identifier: Apache-2.0
package org.apache.hadoop.hdfs;

import static org.apache.hadoop.hdfs.WriteCluster.path;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.net.SocketAddress;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import javax.net.SocketFactory;
import org.apache.hadoop.fs.FSDataInputStream;
import org.apache.hadoop.fs.FSDataOutputStream;
import org.apache.hadoop.fs.FileRange;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Reads by {@link SmallBlockReader} of Hadoop's own DataNodes, which have no plugin. */
class SmallReadsTest {
    private static final int SIZE = 300_001;
    private static final int NODES = 2;

    @TempDir
    private static Path work;

    private static WriteCluster cluster;

    @BeforeAll
    static void start() throws Exception {
        cluster = new WriteCluster(work, NODES);
    }

    @AfterAll
    static void stop() throws IOException {
        cluster.close();
    }

    private static byte[] read(DistributedFileSystem files, String name, long place, int count) throws IOException {
        byte[] bytes = new byte[count];
        try (FSDataInputStream in = files.open(path(name))) {
            in.readFully(place, bytes, 0, count);
        }
        return bytes;
    }

    @Test
    void positioned_vectored_and_small_sequential_reads_give_the_files_bytes() throws Exception {
        try (DistributedFileSystem files = cluster.client()) {
            byte[] content = cluster.write(files, "reads", SIZE);
            long before = ReadConnection.ANSWERS.sum();
            int[][] ranges = {{0, 1}, {511, 2}, {512, 4096}, {70_000, 4096}, {1, 65_536}, {SIZE - 1, 1}, {SIZE - 700, 700}};
            for (int[] range : ranges) {
                assertArrayEquals(Arrays.copyOfRange(content, range[0], range[0] + range[1]),
                    read(files, "reads", range[0], range[1]), "at " + range[0]);
            }
            assertEquals(ranges.length, ReadConnection.ANSWERS.sum() - before);
            assertArrayEquals(Arrays.copyOfRange(content, 3, 3 + 65_537), read(files, "reads", 3, 65_537));
            assertEquals(ranges.length, ReadConnection.ANSWERS.sum() - before);
            List<FileRange> vector = List.of(FileRange.createFileRange(10, 5000), FileRange.createFileRange(200_000, 4096));
            try (FSDataInputStream in = files.open(path("reads"))) {
                in.readVectored(vector, ByteBuffer::allocate);
                for (FileRange range : vector) {
                    ByteBuffer bytes = range.getData().get();
                    assertEquals(ByteBuffer.wrap(content, (int) range.getOffset(), range.getLength()), bytes);
                }
                assertEquals(ranges.length + 2, ReadConnection.ANSWERS.sum() - before);
            }
            byte[] small = cluster.write(files, "small", 10_000);
            try (FSDataInputStream in = files.open(path("small"))) {
                assertEquals(0, in.read(ByteBuffer.allocate(0)));
                assertArrayEquals(Arrays.copyOf(small, 100), in.readNBytes(100));
                in.seek(7000);
                assertArrayEquals(Arrays.copyOfRange(small, 7000, 10_000), in.readAllBytes());
                assertEquals(-1, in.read());
            }
            assertEquals(ranges.length + 3, ReadConnection.ANSWERS.sum() - before);
        }
    }

    @Test
    void hadoops_reader_reads_when_the_setting_says_so() throws Exception {
        try (DistributedFileSystem files = cluster.client("verbena.hdfs.reader=stock")) {
            byte[] content = cluster.write(files, "stock", SIZE);
            long before = ReadConnection.ANSWERS.sum();
            assertArrayEquals(Arrays.copyOfRange(content, 5, 4101), read(files, "stock", 5, 4096));
            assertEquals(before, ReadConnection.ANSWERS.sum());
        }
    }

    @Test
    void hedged_reads_and_reads_without_checksums_work() throws Exception {
        try (DistributedFileSystem files = cluster.client("dfs.client.hedged.read.threadpool.size=2",
            "dfs.client.hedged.read.threshold.millis=1")) {
            byte[] content = cluster.write(files, "hedged", SIZE);
            for (int i = 0; i < 50; i++) {
                assertArrayEquals(Arrays.copyOfRange(content, i * 5000, i * 5000 + 4096), read(files, "hedged", i * 5000, 4096));
            }
            files.setVerifyChecksum(false);
            assertArrayEquals(Arrays.copyOfRange(content, SIZE - 10, SIZE), read(files, "hedged", SIZE - 10, 10));
        } finally {
            WriteCluster.endHedgedReads();
        }
    }

    /** Makes sockets without a channel, and notes where they connect to. */
    public static final class PlainSockets extends SocketFactory {
        private static final List<Integer> PORTS = new CopyOnWriteArrayList<>();

        @Override
        public Socket createSocket() {
            return new Socket() {
                @Override
                public void connect(SocketAddress address, int timeout) throws IOException {
                    PORTS.add(((InetSocketAddress) address).getPort());
                    super.connect(address, timeout);
                }
            };
        }

        @Override
        public Socket createSocket(String host, int port) {
            throw new UnsupportedOperationException();
        }

        @Override
        public Socket createSocket(String host, int port, InetAddress local, int localPort) {
            throw new UnsupportedOperationException();
        }

        @Override
        public Socket createSocket(InetAddress host, int port) {
            throw new UnsupportedOperationException();
        }

        @Override
        public Socket createSocket(InetAddress host, int port, InetAddress local, int localPort) {
            throw new UnsupportedOperationException();
        }
    }

    @Test
    void reads_by_sockets_without_a_channel_share_one_connection() throws Exception {
        try (DistributedFileSystem files = cluster.client("dfs.client.context=plain",
            "dfs.client.socketcache.expiryMsec=600000", // however long a read takes
            "hadoop.rpc.socket.factory.class.ClientProtocol=" + PlainSockets.class.getName())) {
            byte[] content = cluster.write(files, "plain", SIZE);
            PlainSockets.PORTS.clear();
            try (FSDataInputStream in = files.open(path("plain"))) {
                for (int place = 0; place < 10; place++) {
                    byte[] bytes = new byte[4096];
                    in.readFully(place * 20_001L, bytes);
                    assertArrayEquals(Arrays.copyOfRange(content, place * 20_001, place * 20_001 + 4096), bytes);
                }
            }
            assertEquals(1, PlainSockets.PORTS.stream().filter(port -> cluster.dataNodes().stream()
                .anyMatch(node -> node.getXferPort() == port)).count());
        }
    }

    @Test
    void a_damaged_replica_is_reported_and_another_read() throws Exception {
        try (DistributedFileSystem files = cluster.client()) {
            byte[] content = cluster.write(files, "damaged", SIZE);
            WriteCluster.damage(cluster.replicas(files, "damaged").get(0), 5000);
            WriteCluster.until("the damage is found", () -> { // whichever replica is read first
                try {
                    assertArrayEquals(Arrays.copyOfRange(content, 4096, 8192), read(files, "damaged", 4096, 4096));
                    return WriteCluster.block(files, path("damaged")).getLocations().length < NODES;
                } catch (IOException e) {
                    throw new AssertionError(e);
                }
            });
        }
    }

    /** What a client says about a fault, without the DataNodes, whose order is drawn by lot. */
    private static String failure(DistributedFileSystem files, String name) {
        IOException failure = assertThrows(IOException.class, () -> read(files, name, 4096, 4096));
        return (failure.getClass() + ": " + failure.getMessage()).split("Block locations")[0];
    }

    @Test
    void faults_of_all_replicas_give_hadoops_exceptions() throws Exception {
        String[] impatient = {"dfs.client.retry.window.base=1", "dfs.client.max.block.acquire.failures=1"};
        String[] stocks = {impatient[0], impatient[1], "verbena.hdfs.reader=stock"};
        try (DistributedFileSystem ours = cluster.client(impatient); DistributedFileSystem stock = cluster.client(stocks)) {
            cluster.write(ours, "lost", SIZE);
            for (Path replica : cluster.replicas(ours, "lost")) {
                WriteCluster.damage(replica, 5000);
            }
            assertEquals(failure(stock, "lost"), failure(ours, "lost"));
            cluster.write(ours, "gone", SIZE);
            for (Path replica : cluster.replicas(ours, "gone")) {
                Files.delete(replica);
            }
            String said = failure(ours, "gone");
            assertTrue(said.startsWith(BlockMissingException.class.toString()), said);
        }
    }

    @Test
    void an_open_file_is_read_up_to_what_was_flushed() throws Exception {
        try (DistributedFileSystem files = cluster.client()) {
            byte[] content = WriteCluster.content(SIZE);
            try (FSDataOutputStream out = files.create(path("open"), (short) NODES)) {
                out.write(content, 0, 10_001);
                out.hflush();
                assertArrayEquals(Arrays.copyOfRange(content, 5905, 10_001), read(files, "open", 5905, 4096));
                out.write(content, 10_001, SIZE - 10_001);
            }
            assertArrayEquals(Arrays.copyOfRange(content, 5905, 10_001), read(files, "open", 5905, 4096));
        }
    }
}
