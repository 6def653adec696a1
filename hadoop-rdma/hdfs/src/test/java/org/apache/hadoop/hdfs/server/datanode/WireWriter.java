// SPDX-License-Identifier: Apache-2.0
package org.apache.hadoop.hdfs.server.datanode;

import java.io.BufferedOutputStream;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.net.Socket;
import java.nio.ByteBuffer;
import java.util.Arrays;
import org.apache.hadoop.fs.StorageType;
import org.apache.hadoop.hdfs.protocol.DatanodeInfo;
import org.apache.hadoop.hdfs.protocol.LocatedBlock;
import org.apache.hadoop.hdfs.protocol.datatransfer.BlockConstructionStage;
import org.apache.hadoop.hdfs.protocol.datatransfer.PacketHeader;
import org.apache.hadoop.hdfs.protocol.datatransfer.PipelineAck;
import org.apache.hadoop.hdfs.protocol.datatransfer.Sender;
import org.apache.hadoop.hdfs.protocol.proto.DataTransferProtos.BlockOpResponseProto;
import org.apache.hadoop.hdfs.protocol.proto.DataTransferProtos.Status;
import org.apache.hadoop.hdfs.protocolPB.PBHelperClient;
import org.apache.hadoop.net.NetUtils;
import org.apache.hadoop.net.StandardSocketFactory;
import org.apache.hadoop.util.DataChecksum;
import org.verbena.hadoop.hdfs.VerbenaSocketFactory;

/** A client that writes a block packet by packet, as a test says, to all of its DataNodes or the first one alone. */
final class WireWriter implements AutoCloseable {
    static final int CHUNK = 512;
    private static final int TIMEOUT_MS = 120_000;
    static final String CLIENT = "wire";

    private final DataChecksum checksum = DataChecksum.newDataChecksum(DataChecksum.Type.CRC32C, CHUNK);
    private final LocatedBlock block;
    private final Socket socket;
    private final DataInputStream in;
    private final DataOutputStream out;

    WireWriter(ReceiverCluster cluster, LocatedBlock block) throws IOException {
        this(block, byCore(cluster));
    }

    private WireWriter(LocatedBlock block, Socket unconnected) throws IOException {
        this.block = block;
        socket = unconnected;
        NetUtils.connect(socket, NetUtils.createSocketAddr(block.getLocations()[0].getXferAddr()), TIMEOUT_MS);
        socket.setSoTimeout(TIMEOUT_MS);
        in = new DataInputStream(NetUtils.getInputStream(socket));
        out = new DataOutputStream(new BufferedOutputStream(NetUtils.getOutputStream(socket, TIMEOUT_MS)));
    }

    private static Socket byCore(ReceiverCluster cluster) throws IOException {
        VerbenaSocketFactory factory = new VerbenaSocketFactory();
        factory.setConf(cluster.conf());
        return factory.createSocket();
    }

    /** One whose DataNode has Hadoop's own receiver. */
    static WireWriter byTcp(LocatedBlock block) throws IOException {
        return new WireWriter(block, new StandardSocketFactory().createSocket());
    }

    /** Asks for the block to be created at so many DataNodes. */
    WireWriter create(int nodes) throws IOException {
        return request(BlockConstructionStage.PIPELINE_SETUP_CREATE, nodes, 0, 0, block.getBlock().getGenerationStamp());
    }

    WireWriter request(BlockConstructionStage stage, int nodes, long least, long most, long stamp) throws IOException {
        DatanodeInfo[] all = Arrays.copyOf(block.getLocations(), nodes); // of which the first one gets the others
        StorageType[] types = Arrays.copyOf(block.getStorageTypes(), nodes);
        new Sender(out).writeBlock(block.getBlock(), block.getStorageTypes()[0], block.getBlockToken(), CLIENT, all, types, null,
            stage, nodes, least, most, stamp, checksum, CachingStrategy.newDefaultStrategy(), false, false, null,
            block.getStorageIDs()[0], Arrays.copyOf(block.getStorageIDs(), nodes));
        return this;
    }

    BlockOpResponseProto answer() throws IOException {
        out.flush();
        return BlockOpResponseProto.parseFrom(PBHelperClient.vintPrefixed(in));
    }

    Status status() throws IOException {
        return answer().getStatus();
    }

    /** A packet's bytes; data is null for the last one. */
    ByteBuffer packet(long seqno, long offset, byte[] data, boolean sync) {
        int length = data == null ? 0 : data.length;
        int sums = length == 0 ? 0 : checksum.getChecksumSize(length);
        PacketHeader header = new PacketHeader(4 + sums + length, offset, seqno, data == null, length, sync);
        ByteBuffer bytes = ByteBuffer.allocate(header.getSerializedSize() + sums + length);
        header.putInBuffer(bytes);
        if (length > 0) {
            byte[] computed = new byte[sums];
            checksum.calculateChunkedSums(data, 0, length, computed, 0);
            bytes.put(computed).put(data);
        }
        return bytes.flip();
    }

    WireWriter send(ByteBuffer bytes) throws IOException {
        out.write(bytes.array(), bytes.position(), bytes.remaining());
        return this;
    }

    WireWriter send(long seqno, long offset, byte[] data) throws IOException {
        return send(packet(seqno, offset, data, false));
    }

    void sendAll() throws IOException {
        out.flush();
    }

    /** Sends all, and no more. */
    void endOutput() throws IOException {
        out.flush();
        socket.shutdownOutput();
    }

    PipelineAck ack() throws IOException {
        out.flush();
        PipelineAck ack = new PipelineAck();
        ack.readFields(in);
        return ack;
    }

    /** The other side ends the connection without a further byte. */
    boolean hasEnded() throws IOException {
        out.flush();
        try {
            return in.read() < 0;
        } catch (IOException e) {
            if (e.getMessage() != null && e.getMessage().startsWith("Connection reset")) {
                return true;
            }
            throw e;
        }
    }

    @Override
    public void close() throws IOException {
        socket.close();
    }
}
