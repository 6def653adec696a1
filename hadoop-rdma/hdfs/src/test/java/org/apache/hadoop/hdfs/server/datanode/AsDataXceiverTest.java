// SPDX-License-Identifier: Apache-2.0
package org.apache.hadoop.hdfs.server.datanode;

import static org.apache.hadoop.hdfs.server.datanode.WireAsserts.assertSuccess;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Path;
import java.util.Map;
import org.apache.hadoop.fs.FSDataOutputStream;
import org.apache.hadoop.hdfs.LocalHdfs;
import org.apache.hadoop.hdfs.protocol.LocatedBlock;
import org.apache.hadoop.hdfs.protocol.datatransfer.BlockConstructionStage;
import org.apache.hadoop.hdfs.protocol.proto.DataTransferProtos.BlockOpResponseProto;
import org.apache.hadoop.hdfs.protocol.proto.DataTransferProtos.Status;
import org.apache.hadoop.hdfs.security.token.block.BlockTokenIdentifier;
import org.apache.hadoop.metrics2.lib.MutableRollingAverages;
import org.apache.hadoop.metrics2.lib.RolledSoon;
import org.apache.hadoop.security.token.Token;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.api.io.TempDir;

/** What DataXceiver does for a block beside receiving it, and our operation in its place: block tokens, times of peers. */
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
final class AsDataXceiverTest {
    private ReceiverCluster cluster;

    @BeforeAll
    void start(@TempDir Path work) throws Exception {
        cluster = new ReceiverCluster(work, Map.of("dfs.block.access.token.enable", "true", "dfs.datanode.peer.stats.enabled",
            "true"));
    }

    @AfterAll
    void stop() throws IOException {
        cluster.close();
    }

    /** The answer to a client that shows a token, or a request that is refused before the receiver sees it. */
    private void assertRefused(LocatedBlock block, Token<BlockTokenIdentifier> token, BlockConstructionStage stage)
            throws IOException {
        block.setBlockToken(token);
        long taken = XceiverBridge.blocksTaken();
        try (WireWriter writer = new WireWriter(cluster, block)) {
            BlockOpResponseProto answer = writer.request(stage, 1, 0, block.getBlockSize(),
                block.getBlock().getGenerationStamp() + 1).answer();
            assertEquals(Status.ERROR_ACCESS_TOKEN, answer.getStatus());
            assertEquals(block.getLocations()[0].getXferAddr(), answer.getFirstBadLink());
            assertTrue(writer.hasEnded());
        }
        assertEquals(taken, XceiverBridge.blocksTaken());
    }

    private static Token<BlockTokenIdentifier> changed(Token<BlockTokenIdentifier> right) {
        byte[] password = right.getPassword().clone();
        password[0] ^= 1;
        return new Token<>(right.getIdentifier(), password, right.getKind(), right.getService());
    }

    @Test
    void a_write_without_the_blocks_own_token_is_refused_and_makes_no_replica() throws Exception {
        LocatedBlock block = cluster.allocate();
        Token<BlockTokenIdentifier> right = block.getBlockToken();
        assertNotEquals(0, right.getIdentifier().length);
        assertRefused(block, new Token<>(), BlockConstructionStage.PIPELINE_SETUP_CREATE);
        assertRefused(block, changed(right), BlockConstructionStage.PIPELINE_SETUP_CREATE);
        assertRefused(block, cluster.allocate().getBlockToken(), BlockConstructionStage.PIPELINE_SETUP_CREATE);
        assertNull(cluster.replica(block, 0));
        block.setBlockToken(right);
        long taken = XceiverBridge.blocksTaken();
        try (WireWriter writer = new WireWriter(cluster, block)) {
            assertEquals(Status.SUCCESS, writer.create(1).status());
            assertSuccess(writer.send(0, 0, LocalHdfs.content(1000)).ack(), 0, 1);
        }
        assertEquals(taken + 1, XceiverBridge.blocksTaken());
    }

    @Test
    void a_token_for_reading_changes_no_block() throws Exception {
        byte[] content = LocalHdfs.content(1000);
        try (FSDataOutputStream out = cluster.files().create(ReceiverCluster.path("read"))) {
            out.write(content);
        }
        LocalHdfs.untilKnown(cluster.files(), ReceiverCluster.path("read"), ReceiverCluster.NODES);
        LocatedBlock block = LocalHdfs.block(cluster.files(), ReceiverCluster.path("read"));
        for (BlockConstructionStage stage : new BlockConstructionStage[] {BlockConstructionStage.PIPELINE_SETUP_APPEND,
                BlockConstructionStage.PIPELINE_SETUP_STREAMING_RECOVERY, BlockConstructionStage.PIPELINE_CLOSE_RECOVERY}) {
            assertRefused(block, block.getBlockToken(), stage);
        }
        assertTrue(LocalHdfs.isEverywhere(cluster.files(), ReceiverCluster.path("read"), content, ReceiverCluster.NODES));
    }

    @Test
    void times_of_packets_to_the_last_data_node_of_a_pipeline_are_kept_for_reports_of_slow_peers() throws Exception {
        LocatedBlock block = cluster.allocate();
        String last = block.getLocations()[1].getInfoAddr();
        MutableRollingAverages averages = cluster.node(block, 0).getPeerMetrics().getSendPacketDownstreamRollingAverages();
        RolledSoon.let(averages);
        long taken = XceiverBridge.blocksTaken();
        try (WireWriter writer = new WireWriter(cluster, block)) {
            assertEquals(Status.SUCCESS, writer.create(2).status());
            assertSuccess(writer.send(0, 0, LocalHdfs.content(1000)).ack(), 0, 2);
            assertSuccess(writer.send(1, 1000, null).ack(), 1, 2);
        }
        assertEquals(taken + 2, XceiverBridge.blocksTaken());
        LocalHdfs.until("a time of " + last, () -> averages.getStats(0).containsKey(last));
    }
}
