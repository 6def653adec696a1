// SPDX-License-Identifier: Apache-2.0
package org.verbena.netty;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.netty.bootstrap.Bootstrap;
import io.netty.bootstrap.ServerBootstrap;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.netty.channel.Channel;
import io.netty.channel.ChannelFuture;
import io.netty.channel.ChannelHandler;
import io.netty.channel.ChannelInitializer;
import io.netty.util.concurrent.DefaultThreadFactory;
import io.netty.util.concurrent.Future;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.SocketAddress;
import java.util.List;
import java.util.Random;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.function.BooleanSupplier;
import java.util.function.Supplier;
import org.verbena.core.VbnConfig;
import org.verbena.core.VbnContext;
import org.verbena.core.VbnException;
import org.verbena.core.plugin.BufferBudget;
import org.verbena.core.stream.StreamLimits;

/** A server's and a client's event loops in one JVM, ended with a check for leaks; waits with time-outs. */
final class Rig implements AutoCloseable {
    /** Below TestWatch.SECONDS. */
    static final long SECONDS = 120;
    static final InetSocketAddress ANY_PORT = new InetSocketAddress(InetAddress.getLoopbackAddress(), 0);

    /** After the transports: other threads may drive the loops. */
    static final String SHARED = " shared";

    final VbnContext context;
    final VbnEventLoopGroup servers;
    final VbnEventLoopGroup clients;

    Rig(String transports) throws VbnException {
        this(transports, null);
    }

    /** memory: budget of all channels; null: none. */
    Rig(String transports, BufferBudget memory) throws VbnException {
        Leaks.watch();
        context = context(transports);
        servers = group(transports, 2, memory);
        clients = group(transports, 1, memory);
    }

    private VbnEventLoopGroup group(String transports, int loops, BufferBudget memory) {
        return new VbnEventLoopGroup(context, loops, new DefaultThreadFactory("verbena-netty"), StreamLimits.DEFAULT, memory,
            transports.endsWith(SHARED));
    }

    static VbnContext context(String transports) throws VbnException {
        byte[] key = new byte[32];
        new Random(1).nextBytes(key);
        return VbnContext.open(new VbnConfig().set("tl.enable", transports.replace(SHARED, "")).jobKey(key)
            .set("link.close_timeout", SECONDS + "s")); // who closes waits for a peer that has had no turn for long
    }

    /** Each accepted channel gets a handler of its own. */
    Channel bind(SocketAddress address, Supplier<ChannelHandler> handlers) throws Exception {
        return get(server(handlers).bind(address)).channel();
    }

    ServerBootstrap server(Supplier<ChannelHandler> handlers) {
        return new ServerBootstrap().group(servers).channel(VbnServerChannel.class)
            .childHandler(new ChannelInitializer<VbnChannel>() {
                @Override
                protected void initChannel(VbnChannel channel) {
                    channel.pipeline().addLast(handlers.get());
                }
            });
    }

    Bootstrap client(ChannelHandler handler) {
        return new Bootstrap().group(clients).channel(VbnChannel.class).handler(handler);
    }

    VbnChannel connect(SocketAddress address, ChannelHandler handler) throws Exception {
        return (VbnChannel) get(client(handler).connect(address)).channel();
    }

    static ChannelFuture get(ChannelFuture future) throws Exception {
        get((Future<?>) future);
        return future;
    }

    /** Waits; a failure is thrown. */
    static <T> T get(Future<T> future) throws Exception {
        try {
            return future.get(SECONDS, TimeUnit.SECONDS);
        } catch (TimeoutException e) {
            throw new AssertionError("nothing came within " + SECONDS + " s\n" + TestWatch.stacks(), e);
        } catch (ExecutionException e) {
            throw e.getCause() instanceof Exception cause ? cause : e;
        }
    }

    static void await(String what, BooleanSupplier condition) throws InterruptedException {
        long deadline = System.nanoTime() + TimeUnit.SECONDS.toNanos(SECONDS);
        while (!condition.getAsBoolean()) {
            if (System.nanoTime() > deadline) {
                throw new AssertionError("not within " + SECONDS + " s: " + what + "\n" + TestWatch.stacks());
            }
            Thread.sleep(2);
        }
    }

    static byte[] pattern(int bytes, int seed) {
        byte[] pattern = new byte[bytes];
        for (int i = 0; i < bytes; i++) {
            pattern[i] = (byte) (i * 31 + seed + (i >> 8));
        }
        return pattern;
    }

    static ByteBuf buffer(int bytes, int seed) {
        return Unpooled.wrappedBuffer(pattern(bytes, seed));
    }

    static void end(VbnEventLoopGroup group) {
        try {
            get(group.shutdownGracefully(0, SECONDS, TimeUnit.SECONDS));
        } catch (Exception e) {
            throw new AssertionError("event loops do not end", e);
        }
    }

    @Override
    public void close() {
        end(clients);
        end(servers);
        assertEquals(0, clients.counters().get("stream.open") + servers.counters().get("stream.open"), "streams left");
        assertEquals(0, servers.counters().get("stream.violations"));
        context.close();
        assertEquals(List.of(), Leaks.take());
    }
}
