// SPDX-License-Identifier: Apache-2.0
package org.verbena.hadoop.shuffle;

import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.netty.bootstrap.ServerBootstrap;
import io.netty.channel.Channel;
import io.netty.channel.ChannelInboundHandlerAdapter;
import io.netty.channel.EventLoopGroup;
import io.netty.channel.nio.NioEventLoopGroup;
import io.netty.channel.socket.nio.NioServerSocketChannel;
import java.net.InetAddress;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.FutureTask;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;

/** The shuffle service's port is open before our handler is there. */
class InstallerTest {
    private static final int LIMIT_SECONDS = 120;

    @Test
    void whoever_installs_it_goes_on_when_the_loop_that_accepts_connections_has_seen_it() throws Exception {
        EventLoopGroup loop = new NioEventLoopGroup(1);
        try {
            Channel listening = new ServerBootstrap().group(loop).channel(NioServerSocketChannel.class)
                .childHandler(new ChannelInboundHandlerAdapter()).bind(InetAddress.getLoopbackAddress(), 0).sync().channel();
            CountDownLatch busy = new CountDownLatch(1);
            loop.execute(() -> await(busy));
            FutureTask<Void> installs = new FutureTask<>(() -> {
                AddressHandler.Installer.install(listening, null);
                return null;
            });
            Thread thread = new Thread(installs);
            thread.start();
            try {
                while (thread.getState() != Thread.State.WAITING) {
                    assertTrue(thread.isAlive(), "it went on while the loop was busy");
                    Thread.sleep(1);
                }
                assertNull(listening.pipeline().get("verbena"));
            } finally {
                busy.countDown();
            }
            installs.get(LIMIT_SECONDS, TimeUnit.SECONDS);
            assertNotNull(listening.pipeline().get("verbena"));
        } finally {
            loop.shutdownGracefully(0, 0, TimeUnit.SECONDS);
        }
    }

    private static void await(CountDownLatch latch) {
        try {
            latch.await();
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }
}
