// SPDX-License-Identifier: Apache-2.0
package org.apache.hadoop.ipc;

import static org.junit.jupiter.api.Assertions.assertNotNull;

import java.lang.reflect.Proxy;
import java.net.InetSocketAddress;
import org.apache.hadoop.thirdparty.protobuf.BlockingService;
import org.apache.hadoop.tools.protocolPB.GetUserMappingsProtocolPB;
import org.junit.jupiter.api.Test;
import org.verbena.hadoop.rpc.VerbenaRpcEngine;
import org.verbena.hadoop.rpc.node.CoreNode;
import org.verbena.hadoop.rpc.node.RpcConf;
import org.verbena.hadoop.rpc.node.ServerLink;

class ServerQuestionTest {
    /** Longer than a call waits for the greeting. */
    private static final long SLOW_MILLIS = 1500;

    /** The server's greeting comes late, as on a slow host. */
    private static void slow(RPC.Server server) {
        BlockingService greeting = (BlockingService) server.getProtocolImplMap(RPC.RpcKind.RPC_PROTOCOL_BUFFER)
            .get(new RPC.Server.ProtoNameVer(RPC.getProtocolName(GreetingService.Protocol.class),
                RPC.getProtocolVersion(GreetingService.Protocol.class))).protocolImpl;
        Object late = Proxy.newProxyInstance(ServerQuestionTest.class.getClassLoader(), new Class<?>[] {BlockingService.class},
            (self, method, arguments) -> {
                if (method.getName().equals("callBlockingMethod")) {
                    Thread.sleep(SLOW_MILLIS);
                }
                return method.invoke(greeting, arguments);
            });
        server.addProtocol(RPC.RpcKind.RPC_PROTOCOL_BUFFER, GreetingService.Protocol.class, late);
    }

    @Test
    void afterTheQuestionItIsKnownHowTheServerIsReachedAlsoWhereItsGreetingIsLate() throws Exception {
        try (Groups groups = new Groups(true)) {
            slow(groups.server);
            InetSocketAddress address = new InetSocketAddress("127.0.0.1", groups.server.getPort());
            ServerQuestion.ask(groups.conf, address, GetUserMappingsProtocolPB.class.getName(), new VerbenaRpcEngine());
            ServerLink link = CoreNode.of(RpcConf.of(groups.conf)).server(address);
            assertNotNull(link.transport(0), link::obstacle);
        }
    }
}
