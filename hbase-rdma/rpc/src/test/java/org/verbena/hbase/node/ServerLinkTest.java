// SPDX-License-Identifier: Apache-2.0
package org.verbena.hbase.node;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotSame;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.net.SocketAddress;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.apache.hadoop.conf.Configuration;
import org.apache.hbase.thirdparty.io.netty.bootstrap.ServerBootstrap;
import org.apache.hbase.thirdparty.io.netty.channel.Channel;
import org.apache.hbase.thirdparty.io.netty.channel.ChannelInboundHandlerAdapter;
import org.apache.hbase.thirdparty.io.netty.util.concurrent.Future;
import org.junit.jupiter.api.Test;
import org.verbena.core.VbnConfig;
import org.verbena.core.VbnContext;
import org.verbena.core.plugin.Remote;
import org.verbena.core.plugin.Remotes;
import org.verbena.hbase.netty.VbnEventLoopGroup;
import org.verbena.hbase.netty.VbnServerChannel;

/** Calls do not wait all of their time for a server that does not answer: then the reason would be another one. */
class ServerLinkTest {
    private static final int SECONDS = 60;
    /** So long that the connect would fail before, with another reason; a twentieth is a fifth of the time after which it does. */
    private static final int PATIENCE = 40_000;

    private static Configuration conf(int waitMillis) {
        Configuration conf = new Configuration(false);
        conf.set("verbena.hbase.auth", "none");
        conf.setInt("verbena.hbase.connect.wait.ms", waitMillis);
        return conf;
    }

    /** Why a call goes by TCP to a server at that address, after it has waited as long as it should. */
    private static Reason reason(SocketAddress server, int waitMillis) throws Exception {
        ServerLink link = CoreNode.of(HBaseConf.of(conf(waitMillis))).server((InetSocketAddress) server);
        link.use();
        link.decided(0).get(SECONDS, TimeUnit.SECONDS);
        return link.use();
    }

    @Test
    void a_server_that_accepts_and_says_nothing_is_not_waited_for() throws Exception {
        try (ServerSocket mute = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
            assertEquals(Reason.NOT_ANSWERED, reason(mute.getLocalSocketAddress(), PATIENCE));
        }
    }

    @Test
    void servers_that_nobody_calls_any_more_are_forgotten() throws Exception {
        try (Socket bound = new Socket()) {
            bound.bind(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0));
            reason(bound.getLocalSocketAddress(), 500_000); // settings, and so servers, of this test alone
            CoreNode node = CoreNode.of(HBaseConf.of(conf(500_000)));
            ServerLink first = node.server((InetSocketAddress) bound.getLocalSocketAddress());
            node.servers().sweep(System.nanoTime() + Remotes.FORGET / 2);
            assertEquals(1, node.servers().size(), "called within the hour");
            node.servers().sweep(System.nanoTime() + Remotes.FORGET + 1);
            assertEquals(0, node.servers().size());
            ServerLink next = node.server((InetSocketAddress) bound.getLocalSocketAddress());
            assertNotSame(first, next, "a call that comes later has another one");
            assertTrue(first.remote().isRetired(), "which alone connects");
        }
    }

    /** What is left of a connection when its server ends, so many seconds after the last call to it. */
    private static Remote.State afterTheEnd(int seconds) throws Exception {
        Configuration conf = conf(550_000 + seconds);
        conf.set("verbena.core.tl.enable", "self,shm");
        try (VbnContext context = VbnContext.open(new VbnConfig().set("tl.enable", "self,shm").set("security.auth", "none"))) {
            VbnEventLoopGroup group = new VbnEventLoopGroup(context, 1);
            Channel server = new ServerBootstrap().group(group).channel(VbnServerChannel.class)
                .childHandler(new ChannelInboundHandlerAdapter()).bind(InetAddress.getLoopbackAddress(), 0).sync().channel();
            ServerLink link = CoreNode.of(HBaseConf.of(conf)).server((InetSocketAddress) server.localAddress());
            link.use();
            link.decided(0).get(SECONDS, TimeUnit.SECONDS);
            assertNull(link.use(System.nanoTime() - TimeUnit.SECONDS.toNanos(seconds)), "by the core");
            CountDownLatch told = new CountDownLatch(1);
            link.remote().peer().closeFuture().addListener(closed -> told.countDown());
            Future<?> ended = group.shutdownGracefully(0, SECONDS, TimeUnit.SECONDS);
            assertTrue(told.await(SECONDS, TimeUnit.SECONDS), "the end of the server");
            assertTrue(ended.await(SECONDS, TimeUnit.SECONDS), "the end of its loop");
            return link.remote().state();
        }
    }

    @Test
    void a_server_that_ends_when_nobody_calls_it_has_not_failed() throws Exception {
        assertEquals(Remote.State.UNCONNECTED, afterTheEnd(61), "the next call connects at once");
        assertEquals(Remote.State.DOWN, afterTheEnd(10), "somebody may wait for an answer");
    }

    @Test
    void a_closed_port_is_not_waited_for() throws Exception {
        try (Socket bound = new Socket()) { // nobody else gets the port, and nobody listens
            bound.bind(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0));
            assertEquals(Reason.NOT_ANSWERED, reason(bound.getLocalSocketAddress(), 600_000));
        }
    }
}
