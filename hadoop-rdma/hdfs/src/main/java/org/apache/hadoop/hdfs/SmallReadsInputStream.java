// SPDX-License-Identifier: Apache-2.0
package org.apache.hadoop.hdfs;

import java.io.IOException;
import java.net.InetSocketAddress;
import java.nio.ByteBuffer;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.IntFunction;
import org.apache.hadoop.fs.FileRange;
import org.apache.hadoop.fs.StorageType;
import org.apache.hadoop.hdfs.client.impl.DfsClientConf.ShortCircuitConf;
import org.apache.hadoop.hdfs.protocol.DatanodeInfo;
import org.apache.hadoop.hdfs.protocol.LocatedBlock;
import org.apache.hadoop.hdfs.protocol.LocatedBlocks;

/**
 * Hadoop's stream, which reads small parts of blocks by {@link SmallBlockReader}: positioned reads and small blocks. Of a vectored
 * read it asks for all small parts first, see {@link VectoredRead}. Choice of DataNodes, hedged reads, statistics and all that goes
 * wrong are Hadoop's, and so are reads of files of the same host.
 */
final class SmallReadsInputStream extends DFSInputStream {
    /** Some reads do not go to the DataNode's port. */
    private final boolean special;
    private final boolean shortCircuit;
    /** Of all streams of the client. */
    private final OneRequestNodes oneRequestNodes;
    /** The vectored reads of threads, of which Hadoop's code reads one range after the other. */
    private final Map<Thread, VectoredRead> vectored = new ConcurrentHashMap<>();

    SmallReadsInputStream(DFSClient client, String path, boolean verify, LocatedBlocks blocks, OneRequestNodes oneRequestNodes)
            throws IOException {
        super(client, path, verify, blocks);
        this.oneRequestNodes = oneRequestNodes;
        ShortCircuitConf conf = client.getConf().getShortCircuitConf();
        shortCircuit = conf.isShortCircuitLocalReads();
        special = conf.isDomainSocketDataTraffic() || !client.getConf().getReplicaAccessorBuilderClasses().isEmpty();
    }

    OneRequestNodes oneRequestNodes() {
        return oneRequestNodes;
    }

    /** Whether so many bytes of a block are read here. */
    boolean isSmall(long length, InetSocketAddress address) throws IOException {
        return length > 0 && length <= SmallBlockReader.MOST && !special && !tcpReadsDisabledForTesting
            && !(shortCircuit && DFSUtilClient.isLocalAddress(address));
    }

    ReadRequest request(LocatedBlock block, long offset, int length) {
        synchronized (infoLock) {
            return new ReadRequest(src, block, offset, length, verifyChecksum, cachingStrategy);
        }
    }

    @Override
    protected BlockReader getBlockReader(LocatedBlock block, long offset, long length, InetSocketAddress address, StorageType type,
            DatanodeInfo node) throws IOException {
        BlockReader small = null;
        if (isSmall(length, address)) {
            VectoredRead asked = vectored.get(Thread.currentThread());
            ByteBuffer bytes = asked == null ? null : asked.take(block, offset, (int) length, node);
            small = bytes != null ? new SmallBlockReader(bytes, dfsClient.getClientContext().getNetworkDistance(node))
                : SmallBlockReader.read(dfsClient, request(block, offset, (int) length), address, node);
        }
        return small == null ? super.getBlockReader(block, offset, length, address, type, node) : small;
    }

    @Override
    public void readVectored(List<? extends FileRange> ranges, IntFunction<ByteBuffer> allocate) throws IOException {
        try (VectoredRead asked = new VectoredRead(this)) {
            if (!closed.get() && dfsClient.isClientRunning() && !dfsClient.isHedgedReadsEnabled()) { // which other threads read
                asked.ask(ranges);
            }
            vectored.put(Thread.currentThread(), asked);
            super.readVectored(ranges, allocate);
        } finally {
            vectored.remove(Thread.currentThread());
        }
    }
}
