// SPDX-License-Identifier: Apache-2.0
package org.apache.hadoop.hbase.ipc;

import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertTrue;

import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.hbase.DoNotRetryIOException;
import org.apache.hadoop.hbase.HConstants;
import org.apache.hadoop.hbase.Server;
import org.apache.hadoop.hbase.codec.Codec;
import org.apache.hadoop.hbase.ipc.RpcServer.BlockingServiceAndInterface;
import org.apache.hadoop.hbase.net.Address;
import org.apache.hadoop.hbase.nio.ByteBuff;
import org.apache.hbase.thirdparty.io.netty.channel.Channel;
import org.junit.After;
import org.junit.AfterClass;
import org.junit.Before;
import org.junit.Test;
import org.junit.runner.RunWith;
import org.junit.runners.Parameterized;
import org.junit.runners.Parameterized.Parameters;
import org.verbena.hbase.node.CoreNode;
import org.verbena.hbase.node.HBaseConf;
import org.verbena.hbase.node.Reason;

/**
 * HBase's own tests of RPC with our client, against our server over shared memory, our server over the core's TCP, and HBase's
 * two servers. That calls took the way that is meant is counted.
 */
@RunWith(Parameterized.class)
public class VbnIPC extends AbstractTestIPC {
    private static final long SECONDS = 120;
    private static final int TRIES = 20;
    private static final List<String> RUNS = List.of(System.getProperty("verbena.ipc.runs").split(","));
    private static final Map<String, Class<? extends RpcServer>> SERVERS = Map.of("shm", VbnRpcServer.class, "tcp",
        VbnRpcServer.class, "netty", NettyRpcServer.class, "simple", SimpleRpcServer.class);
    private static final Set<Integer> PORTS = new HashSet<>();

    @Parameterized.Parameter(1)
    public String run;

    private final List<RpcServer> servers = new ArrayList<>();
    private Map<String, Long> before;

    @Parameters(name = "{1}")
    public static List<Object[]> parameters() {
        return RUNS.stream().map(run -> new Object[] {SERVERS.get(run), run}).toList();
    }

    @Before
    public void count() {
        CONF.set("verbena.hbase.auth", "none");
        CONF.set("verbena.hbase.connect.wait.ms", Long.toString(1000 * SECONDS));
        CONF.set("verbena.hbase.loops", "1");
        CONF.set("verbena.core.tl.enable", run.equals("tcp") ? "tcp" : "shm");
        before = new HashMap<>(node().numbers());
    }

    /** Clients have loops of their own, so that the core's transport is not that within one engine. */
    private static Configuration clients(Configuration conf) {
        Configuration own = new Configuration(conf);
        own.set("verbena.hbase.loops", "2");
        return own;
    }

    private static CoreNode node() {
        return CoreNode.of(HBaseConf.of(clients(CONF)));
    }

    private long since(String name) {
        return node().numbers().getOrDefault(name, 0L) - before.getOrDefault(name, 0L);
    }

    @After
    public void calls_took_the_way_that_is_meant() {
        boolean ours = rpcServerImpl == VbnRpcServer.class;
        assertTrue("threads that wait drive the loops", node().callersDrive());
        assertEquals(0, since("calls.tcp.while_connecting") + since("calls.tcp.after_failures"));
        assertEquals(0, ours ? since("calls.tcp.not_answered") : since("calls.core"));
        assertTrue(since("calls.core") + since("calls.tcp.not_answered") + since("calls.tcp.registry") > 0);
        servers.forEach(RpcServer::stop); // some tests do not
    }

    @AfterClass
    public static void say() {
        System.out.println("calls of " + RUNS + ": " + node().sentence());
    }

    @Test
    @Override
    public void testTimeout() throws IOException {
        InTime.run(super::testTimeout);
    }

    @Test
    @Override
    public void testAsyncTimeout() throws IOException {
        InTime.run(super::testAsyncTimeout);
    }

    /** Also waits until our client knows how the server is reached. */
    @Override
    protected RpcServer createRpcServer(Server server, String name, List<BlockingServiceAndInterface> services,
            InetSocketAddress address, Configuration conf, RpcScheduler scheduler) throws IOException {
        return decided(address, at -> super.createRpcServer(server, name, services, at, conf, scheduler));
    }

    @FunctionalInterface
    private interface Maker {
        RpcServer make(InetSocketAddress at) throws IOException;
    }

    /**
     * On a port that no server before it had: calls to that one go by TCP for a while after its end. A server that
     * cannot bind, as somebody took the port meanwhile, has not touched its scheduler: mocks count those of one server.
     */
    private RpcServer made(InetSocketAddress address, Maker maker) throws IOException {
        for (int left = TRIES - 1;; left--) {
            try {
                InetAddress host = address.getAddress();
                RpcServer server = maker.make(new InetSocketAddress(host, unusedPort(host)));
                servers.add(server);
                return server;
            } catch (IOException e) {
                if (left == 0 || !String.valueOf(e.getMessage()).contains("Address already in use")) {
                    throw e;
                }
            }
        }
    }

    /** Those that the kernel gives again are held until it gives another one. */
    private static int unusedPort(InetAddress address) throws IOException {
        List<ServerSocket> held = new ArrayList<>();
        try {
            do {
                held.add(new ServerSocket(0, 1, address));
            } while (!PORTS.add(held.get(held.size() - 1).getLocalPort()));
            return held.get(held.size() - 1).getLocalPort();
        } finally {
            for (ServerSocket socket : held) {
                socket.close();
            }
        }
    }

    private RpcServer decided(InetSocketAddress address, Maker maker) throws IOException {
        RpcServer server = made(address, maker);
        InetSocketAddress at = server.getListenerAddress();
        if (server instanceof SimpleRpcServer) {
            server.start(); // before that it does not read
        }
        Address name = Address.fromParts(at.getHostName(), at.getPort());
        var link = node().server(Address.toSocketAddress(name));
        try {
            if (link.use() == Reason.WHILE_CONNECTING) {
                link.decided(0).get(SECONDS, TimeUnit.SECONDS);
            }
        } catch (Exception e) {
            throw new IOException(e);
        }
        return server;
    }

    @Override
    protected RpcServer createTestFailingRpcServer(String name, List<BlockingServiceAndInterface> services,
            InetSocketAddress address, Configuration conf, RpcScheduler scheduler) throws IOException {
        return decided(address, at -> rpcServerImpl == VbnRpcServer.class
            ? new Failing(name, services, at, conf, scheduler)
            : super.createTestFailingRpcServer(name, services, at, conf, scheduler));
    }

    private static final class Failing extends VbnRpcServer {
        Failing(String name, List<BlockingServiceAndInterface> services, InetSocketAddress address, Configuration conf,
                RpcScheduler scheduler) throws IOException {
            super(null, name, services, address, conf, scheduler, true);
        }

        @Override
        protected NettyServerRpcConnection createNettyServerRpcConnection(Channel channel) {
            super.createNettyServerRpcConnection(channel);
            return new NettyServerRpcConnection(this, channel) {
                @Override
                public void processRequest(ByteBuff request) throws IOException {
                    throw new DoNotRetryIOException("Failing for test");
                }
            };
        }
    }

    @Override
    protected AbstractRpcClient<?> createRpcClient(Configuration conf) {
        return new VbnRpcClient(clients(conf), HConstants.CLUSTER_ID_DEFAULT, null, null, Map.of());
    }

    @Override
    protected AbstractRpcClient<?> createRpcClientNoCodec(Configuration conf) {
        return new VbnRpcClient(clients(conf), HConstants.CLUSTER_ID_DEFAULT, null, null, Map.of()) {
            @Override
            protected Codec getCodec() {
                return null;
            }
        };
    }

    @Override
    protected AbstractRpcClient<?> createRpcClientRTEDuringConnectionSetup(Configuration conf) {
        return new VbnRpcClient(clients(conf), HConstants.CLUSTER_ID_DEFAULT, null, null, Map.of()) {
            @Override
            protected boolean isTcpNoDelay() {
                throw new RuntimeException("Injected fault");
            }
        };
    }

    @Override
    protected AbstractRpcClient<?> createBadAuthRpcClient(Configuration conf) {
        return new VbnRpcClient(clients(conf), HConstants.CLUSTER_ID_DEFAULT, null, null, Map.of()) {
            @Override
            NettyRpcConnection newConnection(NettyRpcClient on, ConnectionId id) throws IOException {
                return new BadAuthNettyRpcConnection(on, id);
            }
        };
    }
}
