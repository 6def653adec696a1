// SPDX-License-Identifier: Apache-2.0
// A client that does as it likes: a stream to a server's engine, and the bytes of Hadoop's protocol if they are wanted.
package org.apache.hadoop.ipc;

import java.io.IOException;
import java.io.OutputStream;
import java.net.InetSocketAddress;
import java.nio.ByteBuffer;
import java.util.Map;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.ipc.protobuf.ProtobufRpcEngine2Protos.RequestHeaderProto;
import org.apache.hadoop.ipc.protobuf.RpcHeaderProtos.RpcRequestHeaderProto.OperationProto;
import org.apache.hadoop.ipc.protobuf.RpcHeaderProtos.RpcResponseHeaderProto;
import org.apache.hadoop.net.NetUtils;
import org.apache.hadoop.security.UserGroupInformation;
import org.apache.hadoop.tools.proto.GetUserMappingsProtocolProtos.GetGroupsForUserRequestProto;
import org.apache.hadoop.tools.proto.GetUserMappingsProtocolProtos.GetGroupsForUserResponseProto;
import org.apache.hadoop.tools.protocolPB.GetUserMappingsProtocolPB;
import org.apache.hadoop.util.ProtoUtil;
import org.verbena.hadoop.rpc.node.CallStream;
import org.verbena.hadoop.rpc.node.CoreNode;
import org.verbena.hadoop.rpc.node.RpcConf;
import org.verbena.hadoop.rpc.node.ServerLink;

/** Closed with its stream. */
final class RawStream implements AutoCloseable {
    private static final byte[] ID = ClientId.getClientId();

    final CallStream stream;
    private final Client.IpcStreams bytes;

    RawStream(Configuration conf, int port) throws IOException {
        ServerLink link = CoreNode.of(RpcConf.of(conf)).server(new InetSocketAddress("127.0.0.1", port));
        if (link.peer() == null) {
            link.connect(() -> greeting(conf, port));
        }
        stream = link.open(link.peer());
        bytes = new Client.IpcStreams(stream.socket(), 1 << 27);
    }

    private static ByteBuffer greeting(Configuration conf, int port) throws IOException {
        Client client = new Client(RpcWritable.Buffer.class, conf, NetUtils.getDefaultSocketFactory(conf));
        try {
            return GreetingService.answer((RpcWritable.Buffer) client.call(RPC.RpcKind.RPC_PROTOCOL_BUFFER,
                GreetingService.request(), Client.ConnectionId.getConnectionId(new InetSocketAddress("127.0.0.1", port),
                    GetUserMappingsProtocolPB.class, UserGroupInformation.getCurrentUser(), 0, null, conf), null, null));
        } finally {
            client.stop();
        }
    }

    OutputStream output() {
        return stream.socket().getOutputStream();
    }

    void begin() throws IOException {
        bytes.out.write(RpcConstants.HEADER.array());
        bytes.out.write(new byte[] {RpcConstants.CURRENT_VERSION, 0, 0});
        ResponseBuffer buffer = new ResponseBuffer();
        ProtoUtil.makeRpcRequestHeader(RPC.RpcKind.RPC_PROTOCOL_BUFFER, OperationProto.RPC_FINAL_PACKET,
            RpcConstants.CONNECTION_CONTEXT_CALL_ID, -1, ID).writeDelimitedTo(buffer);
        ProtoUtil.makeIpcConnectionContext(RPC.getProtocolName(GetUserMappingsProtocolPB.class),
            UserGroupInformation.getCurrentUser(), null).writeDelimitedTo(buffer);
        bytes.sendRequest(buffer.toByteArray());
    }

    void send(int number, String request) throws IOException {
        ResponseBuffer buffer = new ResponseBuffer();
        ProtoUtil.makeRpcRequestHeader(RPC.RpcKind.RPC_PROTOCOL_BUFFER, OperationProto.RPC_FINAL_PACKET, number, 0, ID)
            .writeDelimitedTo(buffer);
        RpcWritable.wrap(new ProtobufRpcEngine2.RpcProtobufRequest(RequestHeaderProto.newBuilder()
            .setMethodName("getGroupsForUser").setClientProtocolVersion(1)
            .setDeclaringClassProtocolName(RPC.getProtocolName(GetUserMappingsProtocolPB.class)).build(),
            GetGroupsForUserRequestProto.newBuilder().setUser(request).build())).writeTo(buffer);
        bytes.sendRequest(buffer.toByteArray());
        bytes.flush();
    }

    /** The number of the call and its answer. */
    Map.Entry<Integer, String> receive() throws IOException {
        RpcWritable.Buffer packet = RpcWritable.Buffer.wrap(bytes.readResponse());
        RpcResponseHeaderProto header = packet.getValue(RpcResponseHeaderProto.getDefaultInstance());
        return Map.entry(header.getCallId(), packet.getValue(GetGroupsForUserResponseProto.getDefaultInstance()).getGroups(0));
    }

    /** Reads until the server ends the stream; what comes before is dropped. */
    void awaitEnd() {
        try {
            while (stream.socket().getInputStream().read(new byte[4096]) >= 0) {
                continue;
            }
        } catch (IOException e) {
            return; // a reset is an end, too
        }
    }

    @Override
    public void close() {
        stream.close();
    }
}
