// SPDX-License-Identifier: Apache-2.0
package org.apache.hadoop.hdfs.server.datanode;

import static org.apache.hadoop.hdfs.server.datanode.WireAsserts.assertSuccess;
import static org.apache.hadoop.hdfs.server.datanode.WireAsserts.assertSumsAreRight;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.Random;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.apache.hadoop.hdfs.protocol.LocatedBlock;
import org.apache.hadoop.hdfs.protocol.datatransfer.PipelineAck;
import org.apache.hadoop.hdfs.protocol.proto.DataTransferProtos.Status;
import org.junit.jupiter.api.Test;

/** Packets of which several have come before the receiver looks, whole or not. */
class PacketsTogetherTest extends ReceiverSetUp {
    private static final int CHUNK = WireWriter.CHUNK;
    private static final int DRAWN = 12;
    private static final int TRIES = 20;

    @Test
    void packets_of_any_size_and_place_that_come_together_make_one_block() throws Exception {
        long seed = Long.getLong("vbn.test.seed", System.nanoTime());
        Random random = new Random(seed);
        for (int i = 0; i < DRAWN; i++) {
            LocatedBlock block = cluster.allocate();
            byte[] content = ReceiverCluster.content(1 + random.nextInt(ReceiverCluster.BLOCK / 2));
            int nodes = 1 + random.nextInt(ReceiverCluster.NODES);
            try (WireWriter writer = new WireWriter(cluster, block)) {
                assertEquals(Status.SUCCESS, writer.create(nodes).status());
                new DrawnPackets(random, content, writer, nodes).all();
            } catch (IOException | AssertionError e) {
                throw new AssertionError("seed " + seed, e);
            }
            assertEquals(nodes, cluster.replicas(block.getBlock()).size(), "seed " + seed);
            for (Path file : cluster.replicas(block.getBlock())) {
                assertArrayEquals(content, Files.readAllBytes(file), "seed " + seed);
                assertSumsAreRight(file, block.getBlock(), content);
            }
        }
    }

    @Test
    void all_packets_before_the_one_in_which_a_stream_ends_count() throws Exception {
        long seed = Long.getLong("vbn.test.seed", System.nanoTime());
        Random random = new Random(seed);
        for (int i = 0; i < DRAWN; i++) {
            LocatedBlock block = cluster.allocate();
            byte[] content = ReceiverCluster.content(ReceiverCluster.BLOCK / 2);
            DrawnPackets draw;
            try (WireWriter writer = new WireWriter(cluster, block)) {
                assertEquals(Status.SUCCESS, writer.create(1).status());
                draw = new DrawnPackets(random, content, writer, 1);
                draw.some(1 + random.nextInt(DrawnPackets.AHEAD));
                ByteBuffer next = writer.packet(draw.seqno(), 0, new byte[1 + random.nextInt(DrawnPackets.MOST)], false);
                writer.send(next.limit(random.nextInt(next.limit()))).endOutput(); // it still takes acknowledgements
                draw.acknowledged();
                assertTrue(writer.hasEnded(), "seed " + seed);
            }
            int whole = draw.at();
            ReceiverCluster.until("seed " + seed + ": all whole packets count",
                () -> cluster.replica(block, 0).getBytesOnDisk() == whole);
            Path file = cluster.replicas(block.getBlock()).get(0);
            byte[] expected = Arrays.copyOf(content, whole);
            assertArrayEquals(expected, Arrays.copyOf(Files.readAllBytes(file), whole), "seed " + seed);
            assertSumsAreRight(file, block.getBlock(), expected);
        }
    }

    /** Counts writes of data to replicas. */
    private static final class DataWrites extends Injector {
        private final AtomicInteger count = new AtomicInteger();

        @Override
        public void delayWriteToDisk() {
            count.incrementAndGet();
        }
    }

    /** A DataNode that stands still meanwhile writes what it has: no packet waits long for others. */
    @Test
    void packets_that_come_together_are_not_copied_and_are_written_together() throws Exception {
        for (int i = 1; !areWrittenTogether(); i++) {
            assertTrue(i < TRIES, "they were written one by one, " + i + " times");
        }
    }

    private boolean areWrittenTogether() throws Exception {
        cluster.awaitNoWriter();
        int packets = 6;
        LocatedBlock block = cluster.allocate();
        byte[] content = ReceiverCluster.content(packets * CHUNK);
        try (DataWrites writes = new DataWrites(); WireWriter writer = new WireWriter(cluster, block)) {
            assertEquals(Status.SUCCESS, writer.create(1).status());
            long flushes = cluster.flushes();
            long uncopied = XceiverBridge.packetsUncopied();
            for (int i = 0; i < packets; i++) { // they leave in one message
                writer.send(i, i * CHUNK, Arrays.copyOfRange(content, i * CHUNK, (i + 1) * CHUNK));
            }
            for (int i = 0; i < packets; i++) {
                assertSuccess(writer.ack(), i, 1);
            }
            assertEquals(content.length, cluster.replica(block, 0).getBytesOnDisk());
            assertEquals(content.length, cluster.replica(block, 0).getVisibleLength());
            assertEquals(uncopied + packets, XceiverBridge.packetsUncopied());
            assertSumsAreRight(cluster.replicas(block.getBlock()).get(0), block.getBlock(), content);
            return writes.count.get() == 1 && cluster.flushes() == flushes + 1;
        }
    }

    /** The first acknowledgement is late; the others wait until it has been received. */
    private static final class SlowAcks extends Injector {
        private final AtomicInteger begun = new AtomicInteger();
        private final CountDownLatch received = new CountDownLatch(1);

        @Override
        public void delaySendingAckToUpstream(String address) throws IOException {
            try {
                if (begun.getAndIncrement() == 0) {
                    Thread.sleep(AckOutput.MOST_SILENT_MILLIS + 100);
                } else if (!received.await(1, TimeUnit.MINUTES)) {
                    throw new IOException("the first acknowledgement has waited for this one");
                }
            } catch (InterruptedException e) {
                throw new IOException(e);
            }
        }
    }

    @Test
    void acknowledgements_of_slow_packets_that_have_come_together_do_not_wait_for_each_other() throws Exception {
        cluster.awaitNoWriter();
        int packets = 4;
        LocatedBlock block = cluster.allocate();
        try (SlowAcks slow = new SlowAcks(); WireWriter writer = new WireWriter(cluster, block)) {
            assertEquals(Status.SUCCESS, writer.create(1).status());
            for (int i = 0; i < packets; i++) { // they leave in one message
                writer.send(i, i * CHUNK, new byte[CHUNK]);
            }
            assertSuccess(writer.ack(), 0, 1);
            slow.received.countDown();
            for (int i = 1; i < packets; i++) {
                assertSuccess(writer.ack(), i, 1);
            }
        }
    }

    @Test
    void packets_before_one_that_is_corrupt_are_acknowledged_and_count() throws Exception {
        LocatedBlock block = cluster.allocate();
        byte[] content = ReceiverCluster.content(2 * CHUNK);
        try (WireWriter writer = new WireWriter(cluster, block)) {
            assertEquals(Status.SUCCESS, writer.create(1).status());
            ByteBuffer corrupt = writer.packet(1, CHUNK, Arrays.copyOfRange(content, CHUNK, 2 * CHUNK), false);
            corrupt.put(corrupt.limit() - 1, (byte) ~corrupt.get(corrupt.limit() - 1));
            assertSuccess(writer.send(0, 0, Arrays.copyOf(content, CHUNK)).send(corrupt).ack(), 0, 1);
            assertEquals(Status.ERROR_CHECKSUM, PipelineAck.getStatusFromHeader(writer.ack().getHeaderFlag(0)));
            assertTrue(writer.hasEnded());
        }
        assertEquals(CHUNK, cluster.replica(block, 0).getBytesOnDisk());
    }

    @Test
    void packets_that_come_with_the_end_of_their_stream_count() throws Exception {
        LocatedBlock block = cluster.allocate();
        byte[] content = ReceiverCluster.content(3 * CHUNK);
        try (WireWriter writer = new WireWriter(cluster, block)) {
            assertEquals(Status.SUCCESS, writer.create(1).status());
            for (int i = 0; i < 3; i++) {
                writer.send(i, i * CHUNK, Arrays.copyOfRange(content, i * CHUNK, (i + 1) * CHUNK));
            }
            writer.sendAll();
        }
        ReceiverCluster.until("the packets count", () -> cluster.replica(block, 0).getBytesOnDisk() == content.length);
    }
}
