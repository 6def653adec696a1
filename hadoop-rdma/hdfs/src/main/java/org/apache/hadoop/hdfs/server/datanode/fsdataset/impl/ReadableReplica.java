// SPDX-License-Identifier: Apache-2.0
package org.apache.hadoop.hdfs.server.datanode.fsdataset.impl;

import org.apache.hadoop.hdfs.server.datanode.ReplicaWaitingToBeRecovered;

/**
 * A replica that waits for its recovery, all of whose bytes are known to be those of a finished one. For a recovery it is as any
 * other that waits: it never outweighs one that was written to until the end.
 */
final class ReadableReplica extends ReplicaWaitingToBeRecovered {
    ReadableReplica(ReplicaWaitingToBeRecovered waits) {
        super(waits);
    }

    @Override
    public long getVisibleLength() {
        return getNumBytes();
    }

    @Override
    public boolean equals(Object other) {
        return super.equals(other);
    }

    @Override
    public int hashCode() {
        return super.hashCode();
    }
}
