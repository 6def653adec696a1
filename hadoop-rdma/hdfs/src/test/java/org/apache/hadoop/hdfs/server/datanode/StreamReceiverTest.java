// SPDX-License-Identifier: Apache-2.0
package org.apache.hadoop.hdfs.server.datanode;

import static org.apache.hadoop.hdfs.server.datanode.WireAsserts.assertSuccess;
import static org.apache.hadoop.hdfs.server.datanode.WireAsserts.assertSumsAreRight;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.ByteArrayOutputStream;
import java.io.FileOutputStream;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.ClosedChannelException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import java.util.concurrent.atomic.AtomicInteger;
import org.apache.hadoop.fs.FSDataOutputStream;
import org.apache.hadoop.hdfs.DFSPacket;
import org.apache.hadoop.hdfs.net.Peer;
import org.apache.hadoop.hdfs.net.PeerServer;
import org.apache.hadoop.hdfs.protocol.DatanodeID;
import org.apache.hadoop.hdfs.protocol.DatanodeInfo;
import org.apache.hadoop.hdfs.protocol.LocatedBlock;
import org.apache.hadoop.hdfs.protocol.datatransfer.BlockConstructionStage;
import org.apache.hadoop.hdfs.protocol.datatransfer.PipelineAck;
import org.apache.hadoop.hdfs.protocol.proto.DataTransferProtos.BlockOpResponseProto;
import org.apache.hadoop.hdfs.protocol.proto.DataTransferProtos.Status;
import org.junit.jupiter.api.Test;

/** Blocks written by Hadoop's client, and by one that sends each packet as a test says. */
class StreamReceiverTest extends ReceiverSetUp {
    private static final int CHUNK = WireWriter.CHUNK;
    private static final int HOSTILE = 40;
    private static final int OPEN = 12;

    private static int numbers;

    private static String fresh() {
        return "file" + numbers++;
    }

    @Test
    void a_stream_that_does_more_than_write_is_left_to_hadoop() throws IOException {
        nobodyWrites = true;
        Path file = Files.createFile(work.resolve(fresh()));
        try (FileOutputStream plain = new FileOutputStream(file.toFile());
                FileOutputStream hadoops = new FileIoProvider(cluster.conf(), null).getFileOutputStream(null, plain.getFD());
                FileOutputStream watched = new FileOutputStream(plain.getFD()) {
                    @Override
                    public void write(byte[] bytes, int offset, int length) throws IOException {
                        throw new IOException("seen");
                    }
                }) {
            assertTrue(ReplicaWriter.isPlain(plain));
            assertTrue(ReplicaWriter.isPlain(hadoops));
            assertFalse(ReplicaWriter.isPlain(watched));
            assertFalse(ReplicaWriter.isPlain(new ByteArrayOutputStream()));
        }
    }

    @Test
    void three_datanodes_take_a_clients_block_and_none_has_a_thread_for_acknowledgements() throws Exception {
        String name = fresh();
        byte[] content = ReceiverCluster.content(2 * ReceiverCluster.BLOCK + 777);
        long before = XceiverBridge.blocksTaken();
        try (FSDataOutputStream out = cluster.files().create(ReceiverCluster.path(name))) {
            out.write(content, 0, 100_000);
            out.hflush();
            String pool = cluster.files().getClient().getLocatedBlocks("/" + name, 0).get(0).getBlock().getBlockPoolId();
            assertFalse(Thread.getAllStackTraces().keySet().stream().anyMatch(
                one -> one.getName().contains("PacketResponder") && one.getName().contains(pool)));
            out.hsync();
            out.write(content, 100_000, content.length - 100_000);
        }
        assertTrue(XceiverBridge.blocksTaken() >= before + 3 * ReceiverCluster.NODES);
        assertArrayEquals(content, cluster.read(name));
        int offset = 0;
        for (LocatedBlock block : cluster.files().getClient().getLocatedBlocks("/" + name, 0).getLocatedBlocks()) {
            byte[] expected = Arrays.copyOfRange(content, offset, offset + (int) block.getBlockSize());
            assertEquals(ReceiverCluster.NODES, cluster.replicas(block.getBlock()).size());
            for (Path file : cluster.replicas(block.getBlock())) {
                assertArrayEquals(expected, Files.readAllBytes(file));
            }
            offset += expected.length;
        }
    }

    @Test
    void appends_at_each_place_around_a_chunks_edge_keep_bytes_and_checksums() throws Exception {
        for (int first : new int[] {1, CHUNK - 1, CHUNK, CHUNK + 1, 66_000}) {
            String name = fresh();
            byte[] content = ReceiverCluster.content(first + 3 * CHUNK + 5);
            try (FSDataOutputStream out = cluster.files().create(ReceiverCluster.path(name))) {
                out.write(content, 0, first);
            }
            int at = first;
            for (int more : new int[] {3, CHUNK, content.length - first - 3 - CHUNK}) {
                try (FSDataOutputStream out = cluster.files().append(ReceiverCluster.path(name))) {
                    out.write(content, at, more);
                }
                at += more;
            }
            assertArrayEquals(content, cluster.read(name), "first " + first);
        }
    }

    @Test
    void packets_that_come_again_are_acknowledged_and_written_once() throws Exception {
        LocatedBlock block = cluster.allocate();
        byte[] content = ReceiverCluster.content(2 * CHUNK + 100);
        try (WireWriter writer = new WireWriter(cluster, block)) {
            assertEquals(Status.SUCCESS, writer.create(1).status());
            byte[] begin = Arrays.copyOf(content, CHUNK + 100);
            assertSuccess(writer.send(0, 0, begin).ack(), 0, 1);
            assertSuccess(writer.send(1, 0, begin).ack(), 1, 1);
            assertSuccess(writer.send(2, 0, Arrays.copyOf(content, CHUNK + 300)).ack(), 2, 1);
            assertSuccess(writer.send(3, CHUNK + 300, Arrays.copyOfRange(content, CHUNK + 300, 2 * CHUNK)).ack(), 3, 1);
            assertSuccess(writer.send(4, CHUNK, Arrays.copyOfRange(content, CHUNK, 2 * CHUNK + 100)).ack(), 4, 1);
            assertEquals(content.length, cluster.replica(block, 0).getBytesOnDisk());
            assertSuccess(writer.send(5, content.length, null).ack(), 5, 1);
        }
        assertArrayEquals(content, Files.readAllBytes(cluster.replicas(block.getBlock()).get(0)));
        assertSumsAreRight(cluster.replicas(block.getBlock()).get(0), block.getBlock(), content);
    }

    @Test
    void streams_that_stay_open_keep_no_other_one_waiting() throws Exception {
        List<WireWriter> writers = new ArrayList<>();
        try {
            for (int i = 0; i < OPEN; i++) {
                WireWriter writer = new WireWriter(cluster, cluster.allocate());
                writers.add(writer);
                assertEquals(Status.SUCCESS, writer.create(ReceiverCluster.NODES).status(), i + " are open");
            }
        } finally {
            for (WireWriter writer : writers) {
                writer.close();
            }
        }
    }

    /** Has no memory for its first connections, and ends then. */
    private static final class Short implements PeerServer {
        private final AtomicInteger asked = new AtomicInteger();

        @Override
        public Peer accept() throws IOException {
            if (asked.incrementAndGet() <= OPEN) {
                throw new OutOfMemoryError("no memory for a connection");
            }
            throw new ClosedChannelException();
        }

        @Override
        public void setReceiveBufferSize(int size) {
        }

        @Override
        public int getReceiveBufferSize() {
            return 0;
        }

        @Override
        public String getListeningString() {
            return "short";
        }

        @Override
        public void close() {
        }
    }

    @Test
    void a_connection_without_memory_costs_no_thread_that_waits_for_others() throws Exception {
        nobodyWrites = true;
        Short source = new Short();
        XceiverBridge.serve(cluster.dataNodes().get(0), source, true, null);
        ReceiverCluster.until("all connections were waited for", () -> source.asked.get() > OPEN);
    }

    @Test
    void packets_may_follow_the_request_at_once_and_heartbeats_are_answered() throws Exception {
        LocatedBlock block = cluster.allocate();
        byte[] content = ReceiverCluster.content(100);
        try (WireWriter writer = new WireWriter(cluster, block)) {
            writer.create(ReceiverCluster.NODES).send(0, 0, content).send(writer.packet(1, content.length, content, true));
            writer.send(DFSPacket.HEART_BEAT_SEQNO, 0, new byte[0]).send(2, 2L * content.length, null);
            assertEquals(Status.SUCCESS, writer.status());
            for (long seqno : new long[] {0, 1, DFSPacket.HEART_BEAT_SEQNO, 2}) {
                assertSuccess(writer.ack(), seqno, ReceiverCluster.NODES);
            }
        }
        assertEquals(ReceiverCluster.NODES, cluster.replicas(block.getBlock()).size());
    }

    @Test
    void the_last_datanode_finds_bytes_that_have_changed_and_says_so() throws Exception {
        LocatedBlock block = cluster.allocate();
        try (WireWriter writer = new WireWriter(cluster, block)) {
            assertEquals(Status.SUCCESS, writer.create(1).status());
            ByteBuffer packet = writer.packet(0, 0, ReceiverCluster.content(2000), false);
            packet.put(packet.limit() - 1, (byte) ~packet.get(packet.limit() - 1));
            PipelineAck ack = writer.send(packet).ack();
            assertEquals(Status.ERROR_CHECKSUM, PipelineAck.getStatusFromHeader(ack.getHeaderFlag(0)));
            assertTrue(writer.hasEnded());
        }
        assertEquals(0, cluster.replica(block, 0).getBytesOnDisk());
    }

    @Test
    void a_datanode_that_sends_on_what_is_corrupt_there_gives_up_itself() throws Exception {
        LocatedBlock block = cluster.allocate();
        try (WireWriter writer = new WireWriter(cluster, block)) {
            assertEquals(Status.SUCCESS, writer.create(2).status());
            ByteBuffer packet = writer.packet(0, 0, ReceiverCluster.content(2000), false);
            packet.put(packet.limit() - 1, (byte) ~packet.get(packet.limit() - 1));
            writer.send(packet);
            assertTrue(writer.hasEnded());
        }
    }

    @Test
    void packets_out_of_place_end_the_stream_and_space_is_given_back() throws Exception {
        byte[] data = ReceiverCluster.content(CHUNK);
        long[][] wrong = {{CHUNK + 1, CHUNK}, {1L << 40, CHUNK}, {CHUNK - 100, 200}, {-CHUNK, CHUNK}};
        for (long[] place : wrong) {
            try (WireWriter writer = new WireWriter(cluster, cluster.allocate())) {
                assertEquals(Status.SUCCESS, writer.create(1).status());
                assertSuccess(writer.send(0, 0, Arrays.copyOf(data, CHUNK - 100)).ack(), 0, 1);
                assertTrue(writer.send(1, place[0], Arrays.copyOf(data, (int) place[1])).hasEnded(), Arrays.toString(place));
            }
        }
        ReceiverCluster.until("the space reserved for replicas is free again", () -> cluster.reserved() == 0);
    }

    @Test
    void hostile_bytes_end_their_stream_alone() throws Exception {
        long seed = Long.getLong("vbn.test.seed", System.nanoTime());
        Random random = new Random(seed);
        for (int i = 0; i < HOSTILE; i++) {
            try (WireWriter writer = new WireWriter(cluster, cluster.allocate())) {
                assertEquals(Status.SUCCESS, writer.create(1 + random.nextInt(ReceiverCluster.NODES)).status());
                ByteBuffer packet = writer.packet(0, 0, ReceiverCluster.content(3000), false);
                for (int changes = 1 + random.nextInt(3); changes > 0; changes--) {
                    packet.put(random.nextInt(50), (byte) random.nextInt());
                }
                writer.send(packet.limit(1 + random.nextInt(packet.limit()))); // and the end, maybe within the packet
            } catch (IOException e) {
                continue; // it may be refused while it is sent
            }
        }
        String name = fresh();
        byte[] content = ReceiverCluster.content(5000);
        try (FSDataOutputStream out = cluster.files().create(ReceiverCluster.path(name))) {
            out.write(content);
        }
        assertArrayEquals(content, cluster.read(name), "seed " + seed);
        ReceiverCluster.until("space is free again, seed " + seed, () -> cluster.reserved() == 0);
    }

    @Test
    void the_next_datanode_makes_its_replica_while_this_one_does() throws Exception {
        nobodyWrites = true;
        LocatedBlock block = cluster.allocate();
        try (WireWriter first = new WireWriter(cluster, block); WireWriter second = new WireWriter(cluster, block)) {
            assertEquals(Status.SUCCESS, first.create(1).status());
            assertNull(cluster.replica(block, 1));
            second.request(BlockConstructionStage.PIPELINE_SETUP_CREATE, 2, 0, 0, 0);
            assertTrue(second.hasEnded(), "there is a replica already");
            ReceiverCluster.until("the next one has made its replica", () -> cluster.replica(block, 1) != null);
        }
        ReceiverCluster.until("space is free again", () -> cluster.reserved() == 0);
    }

    @Test
    void a_next_datanode_that_cannot_be_reached_is_the_first_bad_link() throws Exception {
        LocatedBlock block = cluster.allocate();
        DatanodeInfo nobody = new DatanodeInfo.DatanodeInfoBuilder().setNodeID(
            new DatanodeID("127.0.0.1", "127.0.0.1", "nobody", 1, 1, 1, 1)).build();
        LocatedBlock bad = new LocatedBlock(block.getBlock(), new DatanodeInfo[] {block.getLocations()[0], nobody},
            block.getStorageIDs(), block.getStorageTypes());
        try (WireWriter writer = new WireWriter(cluster, bad)) {
            nobodyWrites = true;
            BlockOpResponseProto answer = writer.create(2).answer();
            assertEquals(Status.ERROR, answer.getStatus());
            assertEquals("127.0.0.1:1", answer.getFirstBadLink());
        }
    }
}
