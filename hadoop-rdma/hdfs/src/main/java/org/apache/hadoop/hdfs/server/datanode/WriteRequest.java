// SPDX-License-Identifier: Apache-2.0
package org.apache.hadoop.hdfs.server.datanode;

import java.io.DataOutputStream;
import java.io.IOException;
import org.apache.hadoop.fs.StorageType;
import org.apache.hadoop.hdfs.protocol.DatanodeInfo;
import org.apache.hadoop.hdfs.protocol.ExtendedBlock;
import org.apache.hadoop.hdfs.protocol.datatransfer.BlockConstructionStage;
import org.apache.hadoop.hdfs.protocol.datatransfer.Sender;
import org.apache.hadoop.hdfs.security.token.block.BlockTokenIdentifier;
import org.apache.hadoop.security.token.Token;
import org.apache.hadoop.util.DataChecksum;

/**
 * The request to write a block, as it came.
 *
 * @param block the block with its old generation stamp; the receiver changes its copy
 * @param storageType where the replica shall lie
 * @param token the block token
 * @param client the client's name; empty when a DataNode copies the block
 * @param targets the DataNodes after this one
 * @param targetTypes their storage types
 * @param source the DataNode that copies, else null
 * @param stage why the block is written
 * @param pipelineSize how many DataNodes, for the record
 * @param minBytes bytes that all replicas have, for recovery
 * @param maxBytes bytes that the client has sent, for recovery
 * @param newStamp the generation stamp from now on
 * @param checksum how the data is checked
 * @param caching what the client says about the page cache
 * @param lazyPersist whether the replica may lie in memory for a while
 * @param pinning whether the balancer leaves the replica here
 * @param targetPinnings the same of the others, or null
 * @param storageId which volume; null with old clients
 * @param targetIds those of the others; empty with old clients
 */
record WriteRequest(ExtendedBlock block, StorageType storageType, Token<BlockTokenIdentifier> token, String client,
        DatanodeInfo[] targets, StorageType[] targetTypes, DatanodeInfo source, BlockConstructionStage stage, int pipelineSize,
        long minBytes, long maxBytes, long newStamp, DataChecksum checksum, CachingStrategy caching, boolean lazyPersist,
        boolean pinning, boolean[] targetPinnings, String storageId, String[] targetIds) {
    boolean isDatanode() {
        return client.isEmpty();
    }

    boolean isClient() {
        return !client.isEmpty();
    }

    /** Whether the block comes from another replica, so that there are no acknowledgements of packets. */
    boolean isTransfer() {
        return stage == BlockConstructionStage.TRANSFER_RBW || stage == BlockConstructionStage.TRANSFER_FINALIZED;
    }

    /** Whether the block is a client's, and no DataNode has any of it. */
    boolean isNew() {
        return isClient() && stage == BlockConstructionStage.PIPELINE_SETUP_CREATE;
    }

    /** Whether the block is complete here, and is given a new generation stamp. */
    boolean isClose() {
        return isClient() && stage == BlockConstructionStage.PIPELINE_CLOSE_RECOVERY;
    }

    /** Storage types of this DataNode and of the others, for the check of the token. */
    StorageType[] allTypes() {
        StorageType[] all = new StorageType[targetTypes.length + 1];
        all[0] = storageType;
        System.arraycopy(targetTypes, 0, all, 1, targetTypes.length);
        return all;
    }

    /** The same of the volumes; empty with old clients. */
    String[] allIds() {
        if (targetIds.length == 0) {
            return targetIds;
        }
        String[] all = new String[targetIds.length + 1];
        all[0] = storageId;
        System.arraycopy(targetIds, 0, all, 1, targetTypes.length > 0 ? targetIds.length : 0);
        return all;
    }

    /** Sends the request on to the next DataNode. */
    void forward(DataOutputStream out, ExtendedBlock original) throws IOException {
        boolean pins = targetPinnings != null && targetPinnings.length > 0;
        new Sender(out).writeBlock(original, targetTypes[0], token, client, targets, targetTypes, source, stage, pipelineSize,
            minBytes, maxBytes, newStamp, checksum, caching, lazyPersist, pins && targetPinnings[0], targetPinnings,
            targetIds.length > 0 ? targetIds[0] : null, targetIds);
        out.flush();
    }
}
