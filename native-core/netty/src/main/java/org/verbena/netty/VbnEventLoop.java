// SPDX-License-Identifier: Apache-2.0
package org.verbena.netty;

import io.netty.channel.Channel;
import io.netty.channel.SingleThreadEventLoop;
import io.netty.util.concurrent.RejectedExecutionHandlers;
import io.netty.util.internal.PlatformDependent;
import io.netty.util.internal.logging.InternalLogger;
import io.netty.util.internal.logging.InternalLoggerFactory;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.Queue;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Executor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.BooleanSupplier;
import org.verbena.core.TurnWork;
import org.verbena.core.VbnContext;
import org.verbena.core.VbnEngine;
import org.verbena.core.VbnException;
import org.verbena.core.VbnStatus;
import org.verbena.core.plugin.BufferBudget;
import org.verbena.core.stream.StreamLimits;
import org.verbena.core.stream.VbnStreams;

/**
 * An event loop whose thread drives an engine: one turn moves messages, then the channels that have become ready are read and
 * written, then tasks run. It sleeps in the core, on the worker's event. Fields belong to that thread unless they are final
 * or volatile.
 *
 * <p>Loops of a group that is shared are also driven by threads which {@link #enter} them or wait in {@link #park}, one at a
 * time: whoever does so counts as the loop's thread, and runs handlers and tasks.
 */
public final class VbnEventLoop extends SingleThreadEventLoop {
    private static final InternalLogger LOG = InternalLoggerFactory.getInstance(VbnEventLoop.class);
    /** The id of the streams' messages; the context's other engines may use the rest. */
    static final int MESSAGE = 41;
    /** After so long tasks give way to channels. */
    private static final long TASKS_NANOS = 1_000_000;
    private static final long OPEN_SECONDS = 60;
    private static final long DELIVER_NANOS = 10_000_000;
    private static final long WAIT_NANOS = 1_000_000_000;

    /** The bounds of the streams of a loop. memory: null where each loop has its own. */
    record Streams(StreamLimits limits, BufferBudget memory) {
        private VbnStreams on(VbnEngine engine) {
            return memory == null ? new VbnStreams(engine, MESSAGE, limits) : new VbnStreams(engine, MESSAGE, limits, memory);
        }
    }

    private final VbnContext context;
    private final Streams bounds;
    private final boolean shared;
    /** Netty's queue of tasks: any thread looks whether it is empty, which hasTasks() does not allow. */
    private final Queue<Runnable> brought;
    private final CompletableFuture<Void> opened = new CompletableFuture<>();
    private final Set<Channel> channels = new HashSet<>();
    private final ArrayDeque<VbnChannel> ready = new ArrayDeque<>();
    private final Peers peers = new Peers(this);
    private volatile VbnEngine engine;
    private volatile VbnStreams streams;
    /** Channels are left to be looked at, after the last turn. */
    private volatile boolean left;

    VbnEventLoop(VbnEventLoopGroup parent, Executor executor, VbnContext context, Streams bounds, boolean shared) {
        this(parent, executor, context, bounds, shared, PlatformDependent.newMpscQueue(), PlatformDependent.newMpscQueue());
    }

    private VbnEventLoop(VbnEventLoopGroup parent, Executor executor, VbnContext context, Streams bounds, boolean shared,
            Queue<Runnable> queue, Queue<Runnable> last) {
        super(parent, executor, false, queue, last, RejectedExecutionHandlers.reject());
        brought = queue;
        this.context = context;
        this.bounds = bounds;
        this.shared = shared;
    }

    /** Starts the thread and waits for its engine. */
    void awaitOpen() throws VbnException {
        execute(() -> LOG.debug("event loop on engine {}", engine));
        try {
            opened.get(OPEN_SECONDS, TimeUnit.SECONDS);
        } catch (ExecutionException e) {
            VbnException cause = (VbnException) e.getCause();
            throw new VbnException(cause.kind(), cause.text(), cause);
        } catch (TimeoutException e) {
            throw new VbnException(VbnStatus.TIMEOUT, "the event loop's engine did not start within " + OPEN_SECONDS + " s");
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new VbnException(VbnStatus.CLOSED, "interrupted while the event loop started");
        }
    }

    VbnEventLoopGroup group() {
        return (VbnEventLoopGroup) parent();
    }

    VbnEngine engine() {
        return engine;
    }

    VbnStreams streams() {
        return streams;
    }

    Peers peers() {
        return peers;
    }

    @Override
    public boolean inEventLoop(Thread thread) {
        VbnEngine driven = shared ? engine : null;
        return driven == null ? super.inEventLoop(thread) : thread == Thread.currentThread() && driven.inEngine();
    }

    /**
     * Makes the calling thread the loop's, if its group is shared and no other thread is at it: what it writes then goes without
     * a hand-over. Not with a lock that handlers or tasks take. To be followed soon by {@link #leave}, also after exceptions.
     *
     * @return false when it is not: another thread drives the loop, or this one does already
     */
    public boolean enter() {
        return shared && engine.enter();
    }

    /** After {@link #enter} gave true: does what the loop has to do, and ends it. */
    public void leave() {
        engine.leave();
    }

    /**
     * Waits as {@link VbnEngine#park} does: when the group is shared, the thread drives the loop meanwhile, if no other does.
     *
     * @param ready not to wait when it gives true; who changes that calls unpark afterwards
     * @param nanos longest wait
     */
    public void park(BooleanSupplier ready, long nanos) {
        engine.park(ready, nanos);
    }

    /**
     * Ends a wait in {@link #park}, or the next one.
     *
     * @param thread who waits
     */
    public void unpark(Thread thread) {
        engine.unpark(thread);
    }

    @Override
    protected void wakeup(boolean inEventLoop) {
        VbnEngine driven = engine;
        if (!inEventLoop && driven != null) {
            driven.wake();
        }
    }

    @Override
    protected void run() {
        if (open()) {
            boolean ending;
            do {
                turn();
                if (!shared) {
                    work();
                }
                ending = isShuttingDown();
                if (ending) {
                    engine.keep();
                    closeAll();
                }
            } while (!ending || !confirmShutdown());
        } else {
            do {
                shutdownGracefully(0, 0, TimeUnit.NANOSECONDS);
            } while (!confirmShutdown());
        }
    }

    private boolean open() {
        try {
            String name = Thread.currentThread().getName();
            VbnEngine made = shared ? context.attachSharedEngine(name, new Work()) : context.attachEngine(name);
            boolean entered = made.enter();
            streams = bounds.on(made);
            engine = made;
            if (entered) {
                made.leave();
            }
            opened.complete(null);
            return true;
        } catch (VbnException | RuntimeException e) {
            opened.completeExceptionally(e instanceof VbnException ? e
                : new VbnException(VbnStatus.INVALID, e.toString(), e));
            return false;
        }
    }

    private void turn() {
        try {
            if (engine.turn(longestWait()) || isShuttingDown()) {
                return;
            }
            LOG.error("an event loop ends: its context was closed; shut the event loop group down before the context");
        } catch (VbnException e) {
            LOG.error("an event loop ends: its engine has failed", e);
        }
        shutdownGracefully(0, 0, TimeUnit.NANOSECONDS);
    }

    private long longestWait() {
        if (isShuttingDown()) {
            return 0;
        }
        return shared ? WAIT_NANOS : hasTasks() || !ready.isEmpty() ? 0 : delayNanos(System.nanoTime());
    }

    /** What comes after the messages of a turn; true when there was something. */
    private boolean work() {
        int count = ready.size();
        for (int i = count; i > 0; i--) {
            ready.poll().ready();
        }
        return runAllTasks(TASKS_NANOS) || count > 0;
    }

    /** What the threads do that drive a shared loop. */
    private final class Work implements TurnWork {
        @Override
        public boolean run() {
            boolean any = work();
            boolean more = !ready.isEmpty() || hasTasks();
            if (left != more) {
                left = more;
            }
            return any;
        }

        @Override
        public boolean waits() {
            return left || !brought.isEmpty();
        }

        @Override
        public long delayNanos() {
            return Math.min(VbnEventLoop.this.delayNanos(System.nanoTime()), WAIT_NANOS);
        }
    }

    private void closeAll() {
        for (Channel channel : new ArrayList<>(channels)) {
            channel.unsafe().close(channel.voidPromise());
        }
    }

    @Override
    protected void cleanup() {
        if (engine != null) {
            deliver();
            peers.close();
            streams.close();
            engine.close();
        }
    }

    /** Waits, for a bounded time, until the other sides have what the channels have written. */
    private void deliver() {
        AtomicBoolean flushed = new AtomicBoolean();
        try {
            long deadline = System.nanoTime() + context.settingNumber("link.close_timeout");
            boolean driven = true;
            while (driven && streams.sending() > 0 && System.nanoTime() - deadline < 0) {
                driven = engine.turn(DELIVER_NANOS);
            }
            streams.flush(() -> flushed.set(true));
            while (driven && !flushed.get() && System.nanoTime() - deadline < 0) {
                driven = engine.turn(DELIVER_NANOS);
            }
        } catch (VbnException e) {
            LOG.warn("an event loop ends after a failure; bytes that its channels wrote last may be lost", e);
        }
    }

    /** The channel is looked at after this turn. */
    void later(VbnChannel channel) {
        ready.add(channel);
    }

    void add(Channel channel) {
        channels.add(channel);
    }

    void remove(Channel channel) {
        channels.remove(channel);
    }

    @Override
    public int registeredChannels() {
        return channels.size();
    }
}
