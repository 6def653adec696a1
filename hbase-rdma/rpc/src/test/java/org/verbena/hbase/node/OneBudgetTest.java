// SPDX-License-Identifier: Apache-2.0
package org.verbena.hbase.node;

import static org.junit.jupiter.api.Assertions.assertTrue;

import java.net.InetAddress;
import java.util.concurrent.TimeUnit;
import java.util.function.BooleanSupplier;
import org.apache.hadoop.conf.Configuration;
import org.apache.hbase.thirdparty.io.netty.bootstrap.Bootstrap;
import org.apache.hbase.thirdparty.io.netty.bootstrap.ServerBootstrap;
import org.apache.hbase.thirdparty.io.netty.buffer.Unpooled;
import org.apache.hbase.thirdparty.io.netty.channel.Channel;
import org.apache.hbase.thirdparty.io.netty.channel.ChannelInboundHandlerAdapter;
import org.apache.hbase.thirdparty.io.netty.channel.ChannelOption;
import org.junit.jupiter.api.Test;
import org.verbena.core.plugin.StreamBudget;
import org.verbena.hbase.netty.VbnChannel;
import org.verbena.hbase.netty.VbnEventLoopGroup;
import org.verbena.hbase.netty.VbnServerChannel;

/** A caller or a server that does not read takes memory of the process, which one budget bounds. */
class OneBudgetTest {
    private static final int SECONDS = 60;
    private static final int WINDOW = 1 << 20;
    /** A stream gets a message of 256 KiB in any case. */
    private static final long LEAST = 256 << 10;

    /** The loops of a node of its own. */
    private static VbnEventLoopGroup loops(int inlineMicros) throws Exception {
        Configuration conf = new Configuration(false);
        conf.set("verbena.hbase.auth", "none");
        conf.set("verbena.core.tl.enable", "self,tcp"); // no lent memory, which others of this host keep
        conf.setInt("verbena.hbase.inline.max.us", inlineMicros);
        return CoreNode.of(HBaseConf.of(conf)).start(InetAddress.getLoopbackAddress());
    }

    private static void await(String what, BooleanSupplier condition) throws InterruptedException {
        long deadline = System.nanoTime() + TimeUnit.SECONDS.toNanos(SECONDS);
        while (!condition.getAsBoolean()) {
            assertTrue(System.nanoTime() < deadline, "not within " + SECONDS + " s: " + what + ", "
                + StreamBudget.shared().used() + " bytes are used");
            Thread.sleep(2);
        }
    }

    @Test
    void bytes_that_wait_to_be_read_count_against_the_budget_of_the_process() throws Exception {
        Channel server = new ServerBootstrap().group(loops(1_001)).channel(VbnServerChannel.class)
            .childOption(ChannelOption.AUTO_READ, false).childHandler(new ChannelInboundHandlerAdapter())
            .bind(InetAddress.getLoopbackAddress(), 0).sync().channel();
        Channel caller = new Bootstrap().group(loops(1_002)).channel(VbnChannel.class)
            .handler(new ChannelInboundHandlerAdapter()).connect(server.localAddress()).sync().channel();
        long before = StreamBudget.shared().used();
        caller.writeAndFlush(Unpooled.wrappedBuffer(new byte[2 * WINDOW]));
        await("bytes in the budget", () -> StreamBudget.shared().used() >= before + LEAST);
        server.close().sync();
        caller.close().sync();
    }
}
