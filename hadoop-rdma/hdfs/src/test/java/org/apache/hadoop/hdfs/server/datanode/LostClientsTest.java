// SPDX-License-Identifier: Apache-2.0
package org.apache.hadoop.hdfs.server.datanode;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Path;
import java.util.Map;
import org.apache.hadoop.hdfs.protocol.Block;
import org.apache.hadoop.hdfs.protocol.LocatedBlock;
import org.apache.hadoop.hdfs.protocol.datatransfer.BlockConstructionStage;
import org.apache.hadoop.hdfs.protocol.proto.DataTransferProtos.Status;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.api.io.TempDir;

/** What clients leave behind that end without a word, and requests of theirs that come late. */
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
final class LostClientsTest {
    private static final int CLIENTS = 100;

    private ReceiverCluster cluster;

    @BeforeAll
    void start(@TempDir Path work) throws Exception {
        cluster = new ReceiverCluster(work, Map.of());
    }

    @AfterAll
    void stop() throws IOException {
        cluster.close();
    }

    private void awaitNoneReserved() throws InterruptedException {
        ReceiverCluster.until("the space reserved for replicas is free again",
            () -> cluster.reserved() == 0);
    }

    /** A block whose first DataNode has some bytes and its end. */
    private LocatedBlock finished(int bytes) throws IOException {
        LocatedBlock block = cluster.allocate();
        try (WireWriter writer = new WireWriter(cluster, block)) {
            assertEquals(Status.SUCCESS, writer.create(1).status());
            assertTrue(writer.send(0, 0, ReceiverCluster.content(bytes)).ack().isSuccess());
            assertTrue(writer.send(1, bytes, null).ack().isSuccess());
        }
        return block;
    }

    @Test
    void a_hundred_of_them_keep_no_space_reserved() throws Exception {
        long before = XceiverBridge.blocksTaken();
        for (int i = 0; i < CLIENTS; i++) {
            try (WireWriter writer = new WireWriter(cluster, cluster.allocate())) {
                assertEquals(Status.SUCCESS, writer.create(1 + i % ReceiverCluster.NODES).status());
                assertTrue(cluster.reserved() > 0);
                if (i % 2 == 0) {
                    writer.send(0, 0, ReceiverCluster.content(1000)).ack();
                }
            }
        }
        assertTrue(XceiverBridge.blocksTaken() - before >= CLIENTS);
        awaitNoneReserved();
    }

    @Test
    void a_block_that_is_deleted_while_it_is_written_keeps_no_space_reserved() throws Exception {
        LocatedBlock block = cluster.allocate();
        DataNode node = cluster.node(block, 0);
        try (WireWriter writer = new WireWriter(cluster, block)) {
            assertEquals(Status.SUCCESS, writer.create(1).status());
            assertTrue(writer.send(0, 0, ReceiverCluster.content(1024)).ack().isSuccess());
            node.getFSDataset().invalidate(block.getBlock().getBlockPoolId(), new Block[] {block.getBlock().getLocalBlock()});
            awaitNoneReserved();
            assertTrue(writer.send(1, 1024, ReceiverCluster.content(1000)).ack().isSuccess(), "as with Hadoop's receiver");
            assertTrue(writer.send(2, 2024, null).hasEnded());
        }
        ReceiverCluster.until("the writer has gone", () -> node.xserver.getNumPeers() == 0);
        assertEquals(0, cluster.reserved());
    }

    @Test
    void an_older_recovery_of_a_close_that_ends_last_changes_nothing() throws Exception {
        LocatedBlock block = finished(1000);
        long stamp = block.getBlock().getGenerationStamp();
        assertEquals(Status.SUCCESS, recovered(block, BlockConstructionStage.PIPELINE_CLOSE_RECOVERY, stamp + 2));
        assertEquals(stamp + 2, cluster.replica(block, 0).getGenerationStamp());
        assertNotEquals(Status.SUCCESS, recovered(block, BlockConstructionStage.PIPELINE_CLOSE_RECOVERY, stamp + 1));
        assertEquals(stamp + 2, cluster.replica(block, 0).getGenerationStamp());
        assertEquals(1000, cluster.replica(block, 0).getNumBytes());
    }

    @Test
    void an_append_with_an_older_stamp_is_refused() throws Exception {
        LocatedBlock block = finished(1000);
        long stamp = block.getBlock().getGenerationStamp();
        assertNotEquals(Status.SUCCESS, recovered(block, BlockConstructionStage.PIPELINE_SETUP_APPEND, stamp - 1));
        assertEquals(stamp, cluster.replica(block, 0).getGenerationStamp());
        assertEquals(Status.SUCCESS, recovered(block, BlockConstructionStage.PIPELINE_SETUP_APPEND, stamp + 1));
        assertEquals(stamp + 1, cluster.replica(block, 0).getGenerationStamp());
    }

    /** The answer; null when the DataNode gives none. */
    private Status recovered(LocatedBlock block, BlockConstructionStage stage, long stamp) throws IOException {
        try (WireWriter writer = new WireWriter(cluster, block)) {
            return writer.request(stage, 1, 1000, 1000, stamp).status();
        } catch (IOException e) {
            return null;
        }
    }
}
