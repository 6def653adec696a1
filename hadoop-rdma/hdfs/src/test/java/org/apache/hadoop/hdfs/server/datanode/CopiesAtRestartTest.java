// SPDX-License-Identifier: Apache-2.0
package org.apache.hadoop.hdfs.server.datanode;

import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.ByteBuffer;
import org.apache.hadoop.hdfs.protocol.LocatedBlock;
import org.apache.hadoop.hdfs.protocol.datatransfer.BlockConstructionStage;
import org.junit.jupiter.api.Test;

/** Copies of replicas that come to a DataNode while it ends for a restart. */
class CopiesAtRestartTest extends ReceiverSetUp {
    @Test
    void a_copy_that_has_come_in_part_is_not_answered_with_success() throws Exception {
        LocatedBlock block = cluster.allocate();
        DataNode node = cluster.node(block, 0);
        int length = 1000;
        try (WireWriter writer = new WireWriter(cluster, block)) {
            writer.request(BlockConstructionStage.TRANSFER_RBW, 1, 0, 0, block.getBlock().getGenerationStamp());
            writer.send(0, 0, ReceiverCluster.content(length)).sendAll();
            ReceiverCluster.until("the first packet is stored",
                () -> cluster.replica(block, 0) != null && cluster.replica(block, 0).getBytesOnDisk() == length);
            node.shutdownForUpgrade = true;
            ByteBuffer part = writer.packet(1, length, ReceiverCluster.content(length), false);
            writer.send(part.limit(part.limit() / 2)).endOutput();
            assertTrue(writer.hasEnded());
        } finally {
            node.shutdownForUpgrade = false;
        }
    }
}
