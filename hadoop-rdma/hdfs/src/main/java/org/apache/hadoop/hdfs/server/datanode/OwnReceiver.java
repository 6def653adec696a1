// SPDX-License-Identifier: Apache-2.0
package org.apache.hadoop.hdfs.server.datanode;

import java.util.concurrent.atomic.LongAdder;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.hdfs.DFSConfigKeys;

/** Whether the DataNodes of this process can receive blocks by {@link StreamReceiver}, and how many it has received. */
final class OwnReceiver {
    /** Blocks that it took, and those of its streams that Hadoop's receiver took. */
    static final LongAdder TAKEN = new LongAdder();
    static final LongAdder LEFT = new LongAdder();
    /** Packets that were used where they lay. */
    static final LongAdder UNCOPIED = new LongAdder();

    private OwnReceiver() {
    }

    /** Why a DataNode's blocks are Hadoop's receiver's, null when they are not. */
    static String obstacle(DataNode dataNode) {
        String obstacle = streamObstacle(dataNode);
        return obstacle == null ? ReceiverInternals.missing() : obstacle;
    }

    /** Why Hadoop alone reads streams and files of a DataNode, null when it does not. */
    static String streamObstacle(DataNode dataNode) {
        DNConf conf = dataNode.getDnConf();
        if (conf.getEncryptDataTransfer() || conf.getSaslPropsResolver() != null) {
            return "Hadoop's own encryption or authentication of data transfer is on";
        }
        Configuration all = dataNode.getConf();
        if (all.getInt(DFSConfigKeys.DFS_DATANODE_FILEIO_PROFILING_SAMPLING_PERCENTAGE_KEY, 0) > 0) {
            return DFSConfigKeys.DFS_DATANODE_FILEIO_PROFILING_SAMPLING_PERCENTAGE_KEY + " measures Hadoop's own file I/O";
        }
        if (all.getBoolean(DFSConfigKeys.DFS_DATANODE_ENABLE_FILEIO_FAULT_INJECTION_KEY, false)) {
            return DFSConfigKeys.DFS_DATANODE_ENABLE_FILEIO_FAULT_INJECTION_KEY + " disturbs Hadoop's own file I/O";
        }
        return null;
    }
}
