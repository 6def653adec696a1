// SPDX-License-Identifier: Apache-2.0
// A call that every RPC server of Hadoop answers, whatever it serves.
package org.apache.hadoop.ipc;

import java.io.IOException;
import java.net.InetSocketAddress;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.ipc.protobuf.ProtocolInfoProtos.GetProtocolSignatureRequestProto;
import org.apache.hadoop.net.NetUtils;
import org.apache.hadoop.security.UserGroupInformation;
import org.apache.hadoop.thirdparty.protobuf.ServiceException;
import org.verbena.hadoop.rpc.node.CoreNode;
import org.verbena.hadoop.rpc.node.RpcConf;
import org.verbena.hadoop.rpc.node.ServerLink;

/** Asks for the signature of a protocol, by a connection of that protocol: it has the rights and the name that users of it need. */
public final class ServerQuestion {
    private static final long DECIDED_MILLIS = 10_000;

    private ServerQuestion() {
    }

    /**
     * Asks once, with the limits of the configuration. By our engine it is known afterwards how the server is reached.
     *
     * @param address resolved
     * @param protocol name of the class of protobuf; where it is not on the class path, the question goes without it
     * @param engine makes the call
     * @throws IOException when there is no answer; {@link RemoteException}: a refusal
     */
    public static void ask(Configuration conf, InetSocketAddress address, String protocol, RpcEngine engine) throws IOException {
        Class<?> known = conf.getClassByNameOrNull(protocol);
        Client.ConnectionId to = Client.ConnectionId.getConnectionId(address, known == null ? ProtocolMetaInfoPB.class : known,
            UserGroupInformation.getCurrentUser(), Client.getRpcTimeout(conf), null, conf);
        ProtocolMetaInfoPB proxy = engine.getProxy(ProtocolMetaInfoPB.class, RPC.getProtocolVersion(ProtocolMetaInfoPB.class), to,
            conf, NetUtils.getDefaultSocketFactory(conf), null).getProxy();
        try {
            proxy.getProtocolSignature(null, GetProtocolSignatureRequestProto.newBuilder().setProtocol(protocol)
                .setRpcKind(RPC.RpcKind.RPC_PROTOCOL_BUFFER.name()).build());
            if (engine instanceof CoreRpcEngine) {
                decided(conf, address);
            }
        } catch (ServiceException e) {
            throw e.getCause() instanceof IOException cause ? cause : new IOException(e);
        } finally {
            RPC.stopProxy(proxy);
        }
    }

    /** The client asks for the greeting in the background, and its end would be that question's end. */
    private static void decided(Configuration conf, InetSocketAddress address) {
        ServerLink link = CoreNode.of(RpcConf.of(conf)).server(address);
        if (link != null) {
            link.transport(DECIDED_MILLIS);
        }
    }
}
