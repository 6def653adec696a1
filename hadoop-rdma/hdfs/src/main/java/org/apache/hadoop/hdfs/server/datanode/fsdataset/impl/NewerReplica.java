// SPDX-License-Identifier: Apache-2.0
package org.apache.hadoop.hdfs.server.datanode.fsdataset.impl;

import org.apache.hadoop.hdfs.server.common.HdfsServerConstants.ReplicaState;
import org.apache.hadoop.hdfs.server.datanode.ReplicaInfo;

/**
 * Which of two replicas of a block a DataNode keeps: one on the shared path, and its own in another volume. A pipeline that goes on
 * without a DataNode raises the generation stamp, so the replica with the larger one has all that was acknowledged; the other one
 * may lack some of it. So does a pipeline that is only set up: the replica with the larger stamp then has as much as the other.
 *
 * <p>Nobody reads the former before the recovery of its lease, as Hadoop has it, also where both are of one length: a DataNode
 * cannot tell it from one whose last bytes, which others acknowledged, never came to the path.
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
