// SPDX-License-Identifier: Apache-2.0
package org.apache.hadoop.hdfs.server.datanode;

import java.io.BufferedOutputStream;
import java.io.Closeable;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.net.Socket;
import javax.crypto.SecretKey;
import org.apache.hadoop.hdfs.DFSUtilClient;
import org.apache.hadoop.hdfs.protocol.ExtendedBlock;
import org.apache.hadoop.hdfs.protocol.HdfsConstants;
import org.apache.hadoop.hdfs.protocol.datatransfer.IOStreamPair;
import org.apache.hadoop.hdfs.protocol.proto.DataTransferProtos.BlockOpResponseProto;
import org.apache.hadoop.hdfs.protocolPB.PBHelperClient;
import org.apache.hadoop.io.IOUtils;
import org.apache.hadoop.net.NetUtils;
import org.verbena.hadoop.net.CompanionSocket;
import org.verbena.hadoop.net.CoreSocketChannel;

/** The connection to the next DataNode of a pipeline. */
final class Downstream implements Closeable {
    private final String node;
    private final Socket socket;
    private final int readTimeout;
    private DataOutputStream out;
    private DataInputStream in;
    private boolean wrapped;

    /** socket: not connected yet; readTimeout: milliseconds. */
    Downstream(String node, Socket socket, int readTimeout) {
        this.node = node;
        this.socket = socket;
        this.readTimeout = readTimeout;
    }

    /**
     * Connects and sends the request on. If that gives a stream, it has the engine of the one by which the block comes.
     *
     * @param from the stream by which the block comes
     * @param block the block as the request has it
     */
    static Downstream open(DataNode dataNode, CoreSocketChannel from, WriteRequest request, ExtendedBlock block,
            ExtendedBlock original) throws IOException {
        DNConf conf = dataNode.getDnConf();
        int count = request.targets().length;
        Socket socket = dataNode.newSocket();
        if (socket instanceof CompanionSocket companion) {
            companion.accompany(from);
        }
        Downstream next = new Downstream(request.targets()[0].getXferAddr(conf.connectToDnViaHostname), socket,
            conf.socketTimeout + HdfsConstants.READ_TIMEOUT_EXTENSION * count);
        try {
            DataNodeFaultInjector.get().failMirrorConnection();
            next.connect(conf);
            next.secure(dataNode, request, block, conf.socketWriteTimeout + HdfsConstants.WRITE_TIMEOUT_EXTENSION * count);
            request.forward(next.out, original);
            DataNodeFaultInjector.get().writeBlockAfterFlush();
            return next;
        } catch (IOException | RuntimeException e) {
            next.close();
            throw e;
        }
    }

    private void connect(DNConf conf) throws IOException {
        NetUtils.connect(socket, NetUtils.createSocketAddr(node), readTimeout);
        socket.setTcpNoDelay(conf.getDataTransferServerTcpNoDelay());
        socket.setSoTimeout(readTimeout);
        socket.setKeepAlive(true);
        if (conf.getTransferSocketSendBufferSize() > 0) {
            socket.setSendBufferSize(conf.getTransferSocketSendBufferSize());
        }
    }

    /** Hadoop's own encryption and authentication of the connection, if it has any. */
    private void secure(DataNode dataNode, WriteRequest request, ExtendedBlock block, int writeTimeout) throws IOException {
        OutputStream plainOut = NetUtils.getOutputStream(socket, writeTimeout);
        InputStream plainIn = NetUtils.getInputStream(socket);
        SecretKey key = dataNode.getDnConf().overwriteDownstreamDerivedQOP
            ? dataNode.blockPoolTokenSecretManager.get(block.getBlockPoolId()).getCurrentKey().getKey() : null;
        IOStreamPair streams = dataNode.saslClient.socketSend(socket, plainOut, plainIn,
            dataNode.getDataEncryptionKeyFactoryForBlock(block), request.token(), request.targets()[0], key);
        wrapped = streams.in != plainIn || streams.out != plainOut;
        out = new DataOutputStream(new BufferedOutputStream(streams.out,
            DFSUtilClient.getSmallBufferSize(dataNode.getConf())));
        in = new DataInputStream(streams.in);
    }

    /** What the DataNodes after this one say to the request. */
    BlockOpResponseProto readReply() throws IOException {
        return BlockOpResponseProto.parseFrom(PBHelperClient.vintPrefixed(in));
    }

    /** The stream of the core that this is; null when it is a TCP connection, or Hadoop wraps what goes through it. */
    CoreSocketChannel channel() {
        return !wrapped && socket.getChannel() instanceof CoreSocketChannel core ? core : null;
    }

    String node() {
        return node;
    }

    DataOutputStream out() {
        return out;
    }

    DataInputStream in() {
        return in;
    }

    /** Milliseconds without an acknowledgement after which the DataNode counts as lost. */
    int readTimeout() {
        return readTimeout;
    }

    @Override
    public void close() {
        IOUtils.closeStream(out);
        IOUtils.closeStream(in);
        IOUtils.closeSocket(socket);
    }
}
