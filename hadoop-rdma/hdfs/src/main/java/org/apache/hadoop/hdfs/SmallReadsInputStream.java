// SPDX-License-Identifier: Apache-2.0
package org.apache.hadoop.hdfs;

import java.io.IOException;
import java.net.InetSocketAddress;
import org.apache.hadoop.fs.StorageType;
import org.apache.hadoop.hdfs.client.impl.DfsClientConf.ShortCircuitConf;
import org.apache.hadoop.hdfs.protocol.DatanodeInfo;
import org.apache.hadoop.hdfs.protocol.LocatedBlock;
import org.apache.hadoop.hdfs.protocol.LocatedBlocks;
import org.apache.hadoop.hdfs.server.datanode.CachingStrategy;

/**
 * Hadoop's stream, which reads small parts of blocks by {@link SmallBlockReader}: positioned reads and small blocks. Choice of
 * DataNodes, hedged reads, statistics and all that goes wrong are Hadoop's, and so are reads of files of the same host.
 */
final class SmallReadsInputStream extends DFSInputStream {
    /** Some reads do not go to the DataNode's port. */
    private final boolean special;
    private final boolean shortCircuit;

    SmallReadsInputStream(DFSClient client, String path, boolean verify, LocatedBlocks blocks) throws IOException {
        super(client, path, verify, blocks);
        ShortCircuitConf conf = client.getConf().getShortCircuitConf();
        shortCircuit = conf.isShortCircuitLocalReads();
        special = conf.isDomainSocketDataTraffic() || !client.getConf().getReplicaAccessorBuilderClasses().isEmpty();
    }

    @Override
    protected BlockReader getBlockReader(LocatedBlock block, long offset, long length, InetSocketAddress address, StorageType type,
            DatanodeInfo node) throws IOException {
        BlockReader small = null;
        if (length > 0 && length <= SmallBlockReader.MOST && !special && !tcpReadsDisabledForTesting
                && !(shortCircuit && DFSUtilClient.isLocalAddress(address))) {
            CachingStrategy caching;
            synchronized (infoLock) {
                caching = cachingStrategy;
            }
            small = SmallBlockReader.read(dfsClient,
                new SmallBlockReader.Range(src, block, offset, (int) length, verifyChecksum, caching), address, node);
        }
        return small == null ? super.getBlockReader(block, offset, length, address, type, node) : small;
    }
}
