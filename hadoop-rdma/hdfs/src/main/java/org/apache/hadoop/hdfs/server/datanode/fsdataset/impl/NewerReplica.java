// SPDX-License-Identifier: Apache-2.0
package org.apache.hadoop.hdfs.server.datanode.fsdataset.impl;

import org.apache.hadoop.hdfs.server.common.HdfsServerConstants.ReplicaState;
import org.apache.hadoop.hdfs.server.datanode.ReplicaInfo;
import org.apache.hadoop.hdfs.server.datanode.ReplicaWaitingToBeRecovered;

/**
 * Which of two replicas of a block a DataNode keeps: one on the shared path, and its own in another volume. A pipeline that goes on
 * without a DataNode raises the generation stamp, so the replica with the larger one has all that was acknowledged; the other one
 * may lack some of it. So does a pipeline that is only set up: the replica with the larger stamp then has as much as the other.
 */
final class NewerReplica {
    private NewerReplica() {
    }

    /** Whether the replica on the shared path is the one to keep. Of equal ones it is: the own one lies in memory perhaps. */
    static boolean isShared(ReplicaInfo own, ReplicaInfo shared) {
        if (own == null) {
            return true;
        } else if (own.getGenerationStamp() != shared.getGenerationStamp()) {
            return shared.getGenerationStamp() > own.getGenerationStamp();
        } else if (isFinished(own) != isFinished(shared)) {
            return isFinished(shared);
        }
        return (isFinished(own) || own.getState() == ReplicaState.RWR) && shared.getNumBytes() >= own.getNumBytes();
    }

    /**
     * The replica on the shared path as it is served in the place of the own one. An append that was only set up has made it wait
     * for its recovery: Hadoop lets nobody read it. The own replica was finished with as many bytes, so readers of this DataNode
     * keep them.
     */
    static ReplicaInfo served(ReplicaInfo own, ReplicaInfo shared) {
        return own != null && isFinished(own) && own.getNumBytes() == shared.getNumBytes()
            && shared instanceof ReplicaWaitingToBeRecovered waits ? new ReadableReplica(waits) : shared;
    }

    /**
     * Whether the own replica has all that the one on the shared path has, whose files are of no use then. A newer one may be
     * shorter: the pipeline was only set up, and the host lost its power before the bytes were on the disk.
     */
    static boolean isWhole(ReplicaInfo own, ReplicaInfo shared) {
        return own.getState() != ReplicaState.TEMPORARY && own.getGenerationStamp() >= shared.getGenerationStamp()
            && own.getBytesOnDisk() >= shared.getNumBytes();
    }

    private static boolean isFinished(ReplicaInfo replica) {
        return replica.getState() == ReplicaState.FINALIZED;
    }
}
