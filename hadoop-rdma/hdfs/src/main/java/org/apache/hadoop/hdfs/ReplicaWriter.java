// SPDX-License-Identifier: Apache-2.0
package org.apache.hadoop.hdfs;

import java.io.BufferedInputStream;
import java.io.BufferedOutputStream;
import java.io.Closeable;
import java.io.DataOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.net.Socket;
import org.apache.hadoop.fs.StorageType;
import org.apache.hadoop.hdfs.protocol.DatanodeInfo;
import org.apache.hadoop.hdfs.protocol.ExtendedBlock;
import org.apache.hadoop.hdfs.protocol.LocatedBlock;
import org.apache.hadoop.hdfs.protocol.datatransfer.BlockConstructionStage;
import org.apache.hadoop.hdfs.protocol.datatransfer.DataTransferProtoUtil;
import org.apache.hadoop.hdfs.protocol.datatransfer.IOStreamPair;
import org.apache.hadoop.hdfs.protocol.datatransfer.PipelineAck;
import org.apache.hadoop.hdfs.protocol.datatransfer.Sender;
import org.apache.hadoop.hdfs.protocol.proto.DataTransferProtos.BlockOpResponseProto;
import org.apache.hadoop.hdfs.protocol.proto.DataTransferProtos.Status;
import org.apache.hadoop.hdfs.protocolPB.PBHelperClient;
import org.apache.hadoop.hdfs.server.datanode.CachingStrategy;
import org.apache.hadoop.io.IOUtils;
import org.apache.hadoop.net.NetUtils;
import org.apache.hadoop.util.DataChecksum;

/**
 * Writes one replica of a new block by a connection of its own: a pipeline of one DataNode. The request and all packets may be
 * sent before the DataNode has answered the request, as it reads them from one stream. Of one thread.
 */
final class ReplicaWriter implements Closeable {
    /** One DataNode adds one status to an acknowledgement. */
    private static final int STATUSES = 1;
    /** Room for the answers to all packets, and for small packets together. */
    private static final int BUFFER = 8192;

    /** The DataNode ends, and says that it comes back. */
    static final class RestartException extends IOException {
        private static final long serialVersionUID = 1;

        private RestartException() {
            super("the DataNode restarts");
        }
    }

    private final DFSClient client;
    private final LocatedBlock block;
    private final int index;
    private final Socket socket;
    private final DataOutputStream out;
    private final InputStream in;

    /**
     * Connects, and proves the client's right where the cluster asks for that.
     *
     * @param client holder of the file's lease
     * @param block the new block
     * @param index which of its replicas
     */
    ReplicaWriter(DFSClient client, LocatedBlock block, int index) throws IOException {
        this.client = client;
        this.block = block;
        this.index = index;
        DatanodeInfo node = block.getLocations()[index];
        socket = DataStreamer.createSocketForPipeline(node, STATUSES, client);
        try {
            // Hadoop's client sends with eight minutes of patience, as another thread of it waits for answers meanwhile.
            int patience = client.getDatanodeReadTimeout(STATUSES);
            IOStreamPair streams = client.saslClient.socketSend(socket, NetUtils.getOutputStream(socket, patience),
                NetUtils.getInputStream(socket, patience), client, block.getBlockToken(), node);
            out = new DataOutputStream(new BufferedOutputStream(streams.out, BUFFER));
            in = new BufferedInputStream(streams.in, BUFFER);
        } catch (IOException | RuntimeException e) {
            IOUtils.closeSocket(socket);
            throw e;
        }
    }

    /** Sends the request; the arguments are those of the file and its stream. */
    void request(long blockSize, DataChecksum checksum, CachingStrategy caching) throws IOException {
        ExtendedBlock largest = new ExtendedBlock(block.getBlock());
        largest.setNumBytes(blockSize); // for which the DataNode chooses a volume with room
        DatanodeInfo[] targets = {block.getLocations()[index]};
        StorageType[] types = {block.getStorageTypes()[index]};
        String[] storages = {block.getStorageIDs()[index]};
        new Sender(out).writeBlock(largest, types[0], block.getBlockToken(), client.getClientName(), targets, types, null,
            BlockConstructionStage.PIPELINE_SETUP_CREATE, STATUSES, 0, 0, 0, checksum, caching, false, false, null, storages[0],
            storages);
    }

    void send(DFSPacket packet) throws IOException {
        packet.writeTo(out);
    }

    void flush() throws IOException {
        out.flush();
    }

    /** Waits for the answer to the request. */
    void awaitReady() throws IOException {
        DataTransferProtoUtil.checkBlockOpStatus(BlockOpResponseProto.parseFrom(PBHelperClient.vintPrefixed(in)),
            "for a pipeline of one DataNode");
    }

    /** Waits for the acknowledgement of one packet; they come in the order of the packets. */
    void awaitAck(long seqno) throws IOException {
        PipelineAck ack = new PipelineAck();
        ack.readFields(in);
        if (ack.getNumOfReplies() > 0 && PipelineAck.isRestartOOBStatus(PipelineAck.getStatusFromHeader(ack.getHeaderFlag(0)))) {
            throw new RestartException();
        }
        if (ack.getSeqno() != seqno || ack.getNumOfReplies() != STATUSES
            || PipelineAck.getStatusFromHeader(ack.getHeaderFlag(0)) != Status.SUCCESS) {
            throw new IOException("packet " + seqno + " is answered by " + ack);
        }
    }

    @Override
    public void close() {
        IOUtils.closeSocket(socket);
    }
}
