// SPDX-License-Identifier: Apache-2.0
package org.verbena.netty;

import io.netty.channel.Channel;
import io.netty.channel.ChannelFuture;
import io.netty.channel.ChannelPromise;
import io.netty.channel.EventLoop;
import io.netty.channel.EventLoopGroup;
import io.netty.channel.MultithreadEventLoopGroup;
import io.netty.channel.nio.NioEventLoopGroup;
import io.netty.util.concurrent.DefaultThreadFactory;
import io.netty.util.concurrent.EventExecutor;
import io.netty.util.concurrent.Future;
import java.net.BindException;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ThreadFactory;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;
import org.verbena.core.VbnContext;
import org.verbena.core.plugin.BufferBudget;
import org.verbena.core.stream.StreamLimits;

/**
 * Event loops on one context, each with an engine that its thread drives. A server channel listens on all of them; a channel
 * that it accepts runs on the loop that its client has reached, whatever the child group is. Shut it down before the context
 * is closed.
 */
public final class VbnEventLoopGroup extends MultithreadEventLoopGroup {
    private static final int MOST_LOOPS = 4;
    private static final int FIRST_FREE_SERVICE = 32768;

    private final Map<Integer, VbnServerChannel> services = new ConcurrentHashMap<>();
    /** Carries the greetings of TCP addresses; made when the first is needed. */
    private EventLoopGroup greeters;

    /**
     * Starts the loops.
     *
     * @param context settings, key and transports; stays the caller's
     * @param loops how many; 0: half of the processors, at least one and at most four
     * @throws IllegalStateException when an engine cannot be made; the cause says why
     */
    public VbnEventLoopGroup(VbnContext context, int loops) {
        this(context, loops, new DefaultThreadFactory("verbena-netty"), StreamLimits.DEFAULT, false);
    }

    /**
     * Starts the loops.
     *
     * @param context settings, key and transports; stays the caller's
     * @param loops how many; 0: half of the processors, at least one and at most four
     * @param threads makes the loops' threads
     * @param limits bounds of the streams, one per channel
     * @param shared other threads may drive the loops, too ({@link VbnEventLoop#enter})
     * @throws IllegalStateException when an engine cannot be made; the cause says why
     */
    public VbnEventLoopGroup(VbnContext context, int loops, ThreadFactory threads, StreamLimits limits,
            boolean shared) {
        this(context, loops, threads, limits, null, shared);
    }

    /**
     * Starts the loops, whose channels share memory with each other and with other groups.
     *
     * @param context settings, key and transports; stays the caller's
     * @param loops how many; 0: half of the processors, at least one and at most four
     * @param threads makes the loops' threads
     * @param limits bounds of the streams, one per channel
     * @param memory budget of the bytes that wait to be sent or read, outside the heap; null: the limits of each stream bound them
     * @param shared other threads may drive the loops, too ({@link VbnEventLoop#enter})
     * @throws IllegalStateException when an engine cannot be made; the cause says why
     */
    public VbnEventLoopGroup(VbnContext context, int loops, ThreadFactory threads, StreamLimits limits, BufferBudget memory,
            boolean shared) {
        super(loops == 0 ? defaultLoops() : loops, threads, context, new VbnEventLoop.Streams(limits, memory), shared);
    }

    private static int defaultLoops() {
        return Math.max(1, Math.min(MOST_LOOPS, Runtime.getRuntime().availableProcessors() / 2));
    }

    @Override
    protected EventLoop newChild(java.util.concurrent.Executor executor, Object... args) throws Exception {
        VbnEventLoop loop = new VbnEventLoop(this, executor, (VbnContext) args[0], (VbnEventLoop.Streams) args[1],
            (boolean) args[2]);
        loop.awaitOpen();
        return loop;
    }

    @Override
    public ChannelFuture register(Channel channel) {
        return loopOf(channel).register(channel);
    }

    @Override
    public ChannelFuture register(ChannelPromise promise) {
        return loopOf(promise.channel()).register(promise);
    }

    @Override
    @Deprecated
    public ChannelFuture register(Channel channel, ChannelPromise promise) {
        return loopOf(channel).register(channel, promise);
    }

    private EventLoop loopOf(Channel channel) {
        VbnEventLoop home = channel instanceof VbnChannel ours ? ours.home() : null;
        return home == null ? next() : home;
    }

    /** Returns the names of the transports that the loops' engines have opened, in the order in which they are tried. */
    public List<String> transports() {
        return ((VbnEventLoop) iterator().next()).engine().transports();
    }

    /** Returns the counters of all channels by name: streams, messages with data, bytes, refusals, violations. */
    public Map<String, Long> counters() {
        Map<String, Long> sums = new LinkedHashMap<>();
        for (EventExecutor loop : this) {
            ((VbnEventLoop) loop).streams().counters().forEach((name, value) -> sums.merge(name, value, Long::sum));
        }
        return sums;
    }

    @Override
    public Future<?> shutdownGracefully(long quietPeriod, long timeout, TimeUnit unit) {
        synchronized (this) {
            if (greeters != null) {
                greeters.shutdownGracefully(0, timeout, unit);
            }
        }
        return super.shutdownGracefully(quietPeriod, timeout, unit);
    }

    synchronized EventLoopGroup greeters() {
        if (greeters == null) {
            greeters = new NioEventLoopGroup(1, new DefaultThreadFactory("verbena-greeter", true));
        }
        return greeters;
    }

    /** Offers a service on all loops; returns its number. */
    int serve(int wanted, VbnServerChannel server) throws BindException {
        int number = wanted == 0 ? reserve(server) : wanted;
        if (wanted != 0 && services.putIfAbsent(number, server) != null) {
            throw new BindException("service " + number + " is taken by another channel of this event loop group: "
                + "bind to another one, or to 0");
        }
        for (EventExecutor executor : this) {
            VbnEventLoop loop = (VbnEventLoop) executor;
            loop.streams().serve(number, (stream, hello) -> server.accept(loop, stream, hello));
        }
        return number;
    }

    private int reserve(VbnServerChannel server) throws BindException {
        int count = VbnAddress.SERVICE_MAX - FIRST_FREE_SERVICE + 1;
        int first = ThreadLocalRandom.current().nextInt(count);
        for (int i = 0; i < count; i++) {
            int number = FIRST_FREE_SERVICE + (first + i) % count;
            if (services.putIfAbsent(number, server) == null) {
                return number;
            }
        }
        throw new BindException("all services of this event loop group are taken: close server channels");
    }

    void unserve(int number, VbnServerChannel server) {
        for (EventExecutor executor : this) {
            ((VbnEventLoop) executor).streams().serve(number, null);
        }
        services.remove(number, server);
    }
}
