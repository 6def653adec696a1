// SPDX-License-Identifier: Apache-2.0
// The one call by which a client learns, over Hadoop's own RPC, where a server's engine is.
package org.apache.hadoop.ipc;

import java.io.IOException;
import java.net.InetAddress;
import java.nio.ByteBuffer;
import org.apache.hadoop.ipc.protobuf.ProtobufRpcEngine2Protos.RequestHeaderProto;
import org.apache.hadoop.thirdparty.protobuf.BlockingService;
import org.apache.hadoop.thirdparty.protobuf.ByteString;
import org.apache.hadoop.thirdparty.protobuf.DescriptorProtos.FileDescriptorProto;
import org.apache.hadoop.thirdparty.protobuf.DescriptorProtos.MethodDescriptorProto;
import org.apache.hadoop.thirdparty.protobuf.DescriptorProtos.ServiceDescriptorProto;
import org.apache.hadoop.thirdparty.protobuf.Descriptors.Descriptor;
import org.apache.hadoop.thirdparty.protobuf.Descriptors.DescriptorValidationException;
import org.apache.hadoop.thirdparty.protobuf.Descriptors.FileDescriptor;
import org.apache.hadoop.thirdparty.protobuf.Descriptors.MethodDescriptor;
import org.apache.hadoop.thirdparty.protobuf.Descriptors.ServiceDescriptor;
import org.apache.hadoop.thirdparty.protobuf.Message;
import org.apache.hadoop.thirdparty.protobuf.RpcController;
import org.apache.hadoop.thirdparty.protobuf.ServiceException;
import org.apache.hadoop.ipc.protobuf.RpcHeaderProtos.RpcSaslProto;
import org.verbena.core.greeting.Greeter;

/**
 * A protocol of a server beside its own ones. A client sends the call over the connection on which its other calls go, so that
 * the connection's user, authentication and authorization are those of the protocol that it came for. A server without this
 * protocol answers with Hadoop's error for an unknown one. Request and answer are a message of Hadoop's own with one field of
 * bytes, the token of {@link RpcSaslProto}, so that nothing is generated here.
 */
final class GreetingService implements BlockingService {
    static final String METHOD = "verbenaGreet";
    private static final String NAME = "org.verbena.hadoop.rpc.Greeting";
    private static final long VERSION = 1;
    private static final ServiceDescriptor DESCRIPTOR = descriptor();

    private final Greeter<InetAddress> greeter;

    /** Its name and version. */
    @ProtocolInfo(protocolName = NAME, protocolVersion = VERSION)
    interface Protocol {
    }

    GreetingService(Greeter<InetAddress> greeter) {
        this.greeter = greeter;
    }

    private static ServiceDescriptor descriptor() {
        Descriptor bytes = RpcSaslProto.getDescriptor();
        String type = "." + bytes.getFullName();
        FileDescriptorProto file = FileDescriptorProto.newBuilder().setName("verbena_greeting.proto")
            .addDependency(bytes.getFile().getName())
            .addService(ServiceDescriptorProto.newBuilder().setName("Greeting")
                .addMethod(MethodDescriptorProto.newBuilder().setName(METHOD).setInputType(type).setOutputType(type)))
            .build();
        try {
            return FileDescriptor.buildFrom(file, new FileDescriptor[] {bytes.getFile()}).findServiceByName("Greeting");
        } catch (DescriptorValidationException e) {
            throw new IllegalStateException("the description of one method is not valid", e);
        }
    }

    private static RpcSaslProto message(ByteBuffer bytes) {
        return RpcSaslProto.newBuilder().setState(RpcSaslProto.SaslState.SUCCESS).setToken(ByteString.copyFrom(bytes)).build();
    }

    /** The call, for a client. */
    static ProtobufRpcEngine2.RpcProtobufRequest request() {
        return new ProtobufRpcEngine2.RpcProtobufRequest(RequestHeaderProto.newBuilder().setMethodName(METHOD)
            .setDeclaringClassProtocolName(NAME).setClientProtocolVersion(VERSION).build(), message(ByteBuffer.allocate(0)));
    }

    /** What a server has answered. */
    static ByteBuffer answer(RpcWritable.Buffer answer) throws IOException {
        return answer.getValue(RpcSaslProto.getDefaultInstance()).getToken().asReadOnlyByteBuffer();
    }

    @Override
    public ServiceDescriptor getDescriptorForType() {
        return DESCRIPTOR;
    }

    @Override
    public Message callBlockingMethod(MethodDescriptor method, RpcController controller, Message request) throws ServiceException {
        InetAddress from = Server.getRemoteIp();
        if (from == null) {
            throw new ServiceException(new IOException("the client's address is not known: its connection has ended"));
        }
        return message(greeter.greet(from).encode());
    }

    @Override
    public Message getRequestPrototype(MethodDescriptor method) {
        return RpcSaslProto.getDefaultInstance();
    }

    @Override
    public Message getResponsePrototype(MethodDescriptor method) {
        return RpcSaslProto.getDefaultInstance();
    }
}
