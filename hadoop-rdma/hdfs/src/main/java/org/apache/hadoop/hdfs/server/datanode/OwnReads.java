// SPDX-License-Identifier: Apache-2.0
package org.apache.hadoop.hdfs.server.datanode;

import java.io.EOFException;
import java.io.IOException;
import java.io.OutputStream;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.MethodType;
import java.nio.ByteBuffer;
import java.nio.channels.Channels;
import java.nio.channels.WritableByteChannel;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.LongAdder;
import java.util.function.BiConsumer;
import org.apache.hadoop.hdfs.DFSUtil;
import org.apache.hadoop.hdfs.protocol.ExtendedBlock;
import org.apache.hadoop.hdfs.protocol.proto.DataTransferProtos.BaseHeaderProto;
import org.apache.hadoop.hdfs.protocol.proto.DataTransferProtos.OpReadBlockProto;
import org.apache.hadoop.hdfs.protocolPB.PBHelperClient;
import org.apache.hadoop.hdfs.security.token.block.BlockTokenIdentifier;
import org.apache.hadoop.hdfs.server.datanode.fsdataset.FsVolumeReference;
import org.apache.hadoop.hdfs.server.datanode.metrics.DataNodeMetrics;
import org.apache.hadoop.hdfs.util.DataTransferThrottler;
import org.apache.hadoop.util.DataChecksum;
import org.apache.hadoop.util.Time;
import org.verbena.core.plugin.BufferBudget;
import org.verbena.core.plugin.StreamBudget;
import org.verbena.hadoop.net.CorePeer;

/**
 * Small reads of finished replicas that come by streams of the core: the thread of the stream answers them out of open files, by
 * one message. Hadoop opens both files for each read, and sends the answer in pieces. Whatever is unusual about a read, and each
 * failure before the answer is sent, leaves the read to Hadoop, which then gives its own answer, error or log line.
 */
final class OwnReads {
    /** Most bytes of a read. */
    static final int MOST = 64 << 10;
    /** Reads that it answered, and those of its streams that it left to Hadoop. */
    static final LongAdder TAKEN = new LongAdder();
    static final LongAdder LEFT = new LongAdder();

    private final DataNode dataNode;
    private final OpenReplicas files;
    private final BufferBudget.Share memory = StreamBudget.shared().share(2 * MOST);
    private final DataChecksum none = DataChecksum.newDataChecksum(DataChecksum.Type.NULL, OpenReplica.CHUNK);

    /** uses: told the block pool and the replica of each read of files that are open already. */
    OwnReads(DataNode dataNode, BiConsumer<String, ReplicaInfo> uses) {
        this.dataNode = dataNode;
        this.files = new OpenReplicas(dataNode, uses);
    }

    /** Why all reads of a DataNode are Hadoop's, null when they are not. */
    static String obstacle(DataNode dataNode) {
        if (dataNode.getDnConf().socketKeepaliveTimeout <= 0) {
            return "a connection serves one request alone (dfs.datanode.socket.reuse.keepalive)";
        }
        try {
            MethodHandles.Lookup in = MethodHandles.lookup();
            in.findVirtual(DataXceiverServer.class, "getReadThrottler", MethodType.methodType(DataTransferThrottler.class));
            in.findStatic(DFSUtil.class, "addTransferRateMetric",
                MethodType.methodType(void.class, DataNodeMetrics.class, long.class, long.class));
        } catch (ReflectiveOperationException e) {
            return "this Hadoop lacks " + e.getMessage();
        }
        return OwnReceiver.streamObstacle(dataNode);
    }

    /** The replica of a block at this moment; null when there is none. */
    @SuppressWarnings("deprecation") // as Hadoop does, whose own callers have nothing else
    static Replica replica(DataNode dataNode, String pool, long block) {
        return dataNode.data.getReplica(pool, block);
    }

    /** The reads of a stream; to be told when the stream ends. */
    Stream attach(CorePeer peer) {
        Stream stream = new Stream(peer);
        peer.serveBy(new AnsweringInput(peer.peeked(), stream));
        return stream;
    }

    /** One stream, and its thread. */
    final class Stream implements AnsweringInput.Reads {
        private final CorePeer peer;
        private final WritableByteChannel out;
        /** The stream counts as one that reads. */
        private boolean counted;

        private Stream(CorePeer peer) {
            this.peer = peer;
            OutputStream output = peer.getOutputStream();
            this.out = output instanceof WritableByteChannel channel ? channel : Channels.newChannel(output);
        }

        @Override
        public boolean answer(byte[] bytes) throws IOException {
            long begun = Time.monotonicNow();
            Prepared prepared;
            try {
                prepared = prepare(OpReadBlockProto.parseFrom(bytes));
            } catch (IOException | OutOfMemoryError e) { // or there is no direct memory left
                DataNode.LOG.debug("Hadoop answers {}, as here: {}", peer, e.toString());
                prepared = null;
            }
            if (prepared == null) {
                LEFT.increment();
                return false;
            }
            TAKEN.increment(); // before the client can see that
            try {
                send(prepared, begun);
            } finally {
                memory.give(prepared.bytes);
            }
            return true;
        }

        private void send(Prepared prepared, long begun) throws IOException {
            if (!counted) {
                counted = true;
                dataNode.getMetrics().incrDataNodeReadActiveXceiversCount();
            }
            long from = Time.monotonicNowNanos();
            try {
                while (prepared.bytes.hasRemaining()) {
                    out.write(prepared.bytes);
                }
            } catch (IOException e) {
                dataNode.metrics.incrBlocksRead();
                throw (IOException) new EOFException("the client takes no answer: " + e.getMessage()).initCause(e);
            }
            peer.setReadTimeout(dataNode.getDnConf().socketTimeout); // for the client's status
            DataTransferThrottler throttler = dataNode.xserver.getReadThrottler();
            if (throttler != null) {
                throttler.throttle(prepared.answer.counted() + Integer.BYTES);
            }
            count(prepared.answer.counted(), Time.monotonicNowNanos() - from, begun);
        }

        /** As DataXceiver. */
        private void count(int read, long nanos, long begun) {
            dataNode.metrics.incrBytesRead(read);
            dataNode.metrics.incrBlocksRead();
            dataNode.metrics.incrTotalReadTime(TimeUnit.NANOSECONDS.toMillis(nanos));
            DFSUtil.addTransferRateMetric(dataNode.metrics, read, nanos);
            dataNode.metrics.addSendDataPacketBlockedOnNetworkNanos(0);
            dataNode.metrics.addSendDataPacketTransferNanos(nanos);
            dataNode.metrics.addReadBlockOp(Time.monotonicNow() - begun);
            dataNode.metrics.incrReadsFromClient(peer.isLocal(), read);
        }

        @Override
        public void leave() {
            peer.setReadTimeout(dataNode.getDnConf().socketTimeout); // for the rest of the request
            end();
        }

        @Override
        public void rest() {
            peer.setReadTimeout(dataNode.getDnConf().socketKeepaliveTimeout);
        }

        /** The stream ends, or Hadoop counts it. */
        void end() {
            if (counted) {
                counted = false;
                dataNode.getMetrics().decrDataNodeReadActiveXceiversCount();
            }
        }
    }

    /** An answer, made; the bytes are to be given back. */
    private record Prepared(ReadAnswer answer, ByteBuffer bytes) { }

    /** Null: not here. */
    private Prepared prepare(OpReadBlockProto request) throws IOException {
        BaseHeaderProto header = request.getHeader().getBaseHeader();
        boolean caching = request.hasCachingStrategy() && (request.getCachingStrategy().hasDropBehind()
            || request.getCachingStrategy().hasReadahead());
        if (header.hasTraceInfo() || caching || request.getLen() == 0 || Long.compareUnsigned(request.getLen(), MOST) > 0
                || request.getOffset() < 0 || BlockSender.CLIENT_TRACE_LOG.isDebugEnabled()) {
            return null;
        }
        ExtendedBlock block = PBHelperClient.convert(header.getBlock());
        dataNode.getDNRegistrationForBP(block.getBlockPoolId());
        if (dataNode.isBlockTokenEnabled) {
            dataNode.blockPoolTokenSecretManager.checkAccess(PBHelperClient.convert(header.getToken()), null, block,
                BlockTokenIdentifier.AccessMode.READ, null, null);
        }
        Replica found = replica(dataNode, block.getBlockPoolId(), block.getBlockId());
        return found instanceof FinalizedReplica replica && !replica.isOnTransientStorage()
            && replica.getGenerationStamp() >= block.getGenerationStamp()
            && request.getOffset() <= replica.getBytesOnDisk() - request.getLen() ? read(block, replica, request) : null;
    }

    private Prepared read(ExtendedBlock block, FinalizedReplica replica, OpReadBlockProto request) throws IOException {
        FsVolumeReference volume = replica.getVolume().obtainReference(); // nobody removes it meanwhile
        try {
            OpenReplica open = files.of(block, replica);
            return open == null ? null : read(block, open, request);
        } finally {
            volume.close();
        }
    }

    private Prepared read(ExtendedBlock block, OpenReplica open, OpReadBlockProto request) throws IOException {
        FinalizedReplica replica = open.replica();
        long length = replica.getBytesOnDisk();
        ReadAnswer answer = ReadAnswer.of(request.getSendChecksums() ? open.checksum() : none, request.getOffset(),
            request.getLen(), length);
        ByteBuffer bytes = memory.take(answer.room());
        if (bytes == null) {
            return null;
        }
        boolean whole = false;
        try {
            bytes.clear();
            answer.write(bytes, open, answer.end() == length ? replica.getLastPartialChunkChecksum() : null);
            // Else somebody has begun to change or to delete the files, perhaps before they were read.
            whole = replica(dataNode, block.getBlockPoolId(), block.getBlockId()) == replica && replica.getBytesOnDisk() == length;
            return whole ? new Prepared(answer, bytes.flip()) : null;
        } finally {
            if (!whole) {
                memory.give(bytes);
                files.forget(open);
            }
        }
    }
}
