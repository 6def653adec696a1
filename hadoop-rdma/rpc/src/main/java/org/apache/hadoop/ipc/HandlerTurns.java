// SPDX-License-Identifier: Apache-2.0
// Which of a server's threads waits for streams: an idle handler, so that a short call needs no hand-over between two threads.
package org.apache.hadoop.ipc;

import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedDeque;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicReference;
import java.util.concurrent.locks.LockSupport;
import java.util.function.Consumer;
import org.verbena.core.VbnEngine;
import org.verbena.hadoop.rpc.node.CallChannel;

/**
 * Hadoop's call queue, with another wait. Hadoop's handlers take their calls from here. One that finds none becomes the leader:
 * it drives the engine, reads a request of a stream, by Hadoop's own connection, which puts the call into the queue, takes it out
 * and leaves with it. The others are parked. Order, priorities, limits and back-off are those of the queue that is configured.
 *
 * <ul>
 * <li>A leader that leaves appoints nobody: after a short call it is back before the next request. What comes meanwhile is found
 *     by the server's own thread ({@link #relieve}), which looks every few milliseconds while handlers are active, and waits for
 *     streams itself while all of them are busy. So long calls hold nobody up for longer than that, and requests get into the
 *     queue, with its order and limits, when no handler is free.
 * <li>Who brings a call wakes a parked handler, or the leader. A handler that ends instead passes that on.
 * <li>A leader never waits for space in the queue, for it may be the only handler: what finds none it takes along.
 * </ul>
 */
class HandlerTurns extends CallQueueManager<Server.Call> {
    /** A handler looks for a new queue so often, as Hadoop's do. */
    private static final long LOOK_NANOS = TimeUnit.SECONDS.toNanos(1);
    private static final ThreadLocal<Turn> TURN = new ThreadLocal<>();

    /** A handler. */
    static final class Turn {
        final Thread thread = Thread.currentThread();
        boolean reading;
        Server.Call taken;
    }

    private final Consumer<CallChannel> serve;
    private final Queue<CallChannel> ready = new ConcurrentLinkedQueue<>();
    /** Those that nobody has woken. */
    final ConcurrentLinkedDeque<Turn> parked = new ConcurrentLinkedDeque<>();
    private final AtomicReference<Thread> leader = new AtomicReference<>();
    private volatile VbnEngine engine;

    /** Takes the place of a queue that has no calls yet. serve: reads one request of a channel. */
    HandlerTurns(CallQueueManager<Server.Call> from, Consumer<CallChannel> serve) {
        super(Internals.queue(from), Internals.scheduler(from), from.isClientBackoffEnabled(), from.isServerFailOverEnabled());
        this.serve = serve;
    }

    /** The calling thread is the server's own: what becomes ready on it, it passes on by {@link #relieve}. */
    void own() {
        TURN.set(new Turn());
    }

    /** Handlers drive the engine from now on; null: no more. */
    void drive(VbnEngine driven) {
        engine = driven;
        wakeOne();
    }

    /** There is something to read; the thread that drives the engine. */
    void ready(CallChannel channel) {
        ready.add(channel);
        Thread leads = leader.get();
        VbnEngine driven = engine;
        if (leads != null && driven != null) {
            driven.unpark(leads);
        } else if (TURN.get() == null) {
            wakeOne(); // a handler that sends an answer comes here in a moment; if not, the server's thread sees it
        }
    }

    private boolean hasWork() {
        return !ready.isEmpty() || size() > 0;
    }

    private void wakeOne() {
        Turn one = parked.pollFirst();
        if (one != null) {
            LockSupport.unpark(one.thread);
            return;
        }
        Thread leads = leader.get();
        VbnEngine driven = engine;
        if (leads != null && driven != null) {
            driven.unpark(leads);
        }
    }

    // ------------------------------------------------------------------------------------------------- handlers

    @Override
    public Server.Call take() throws InterruptedException {
        Turn mine = TURN.get();
        if (mine == null) {
            mine = new Turn();
            TURN.set(mine);
        }
        while (true) {
            Server.Call call = next(mine);
            if (call != null) {
                if (hasWork()) {
                    wakeOne();
                }
                return call;
            }
            if (!lead()) {
                follow(mine);
            }
            if (Thread.interrupted()) {
                wakeOne(); // this one may have been woken for a call, or have led
                throw new InterruptedException("a handler ends");
            }
        }
    }

    private Server.Call next(Turn mine) {
        Server.Call call = poll();
        for (CallChannel channel = null; call == null && (channel = ready.poll()) != null;) {
            mine.reading = true;
            try {
                serve.accept(channel);
            } finally {
                mine.reading = false;
            }
            call = mine.taken == null ? poll() : mine.taken;
            mine.taken = null;
        }
        return call;
    }

    private boolean lead() {
        VbnEngine driven = engine;
        if (driven == null || !leader.compareAndSet(null, Thread.currentThread())) {
            return false;
        }
        try {
            driven.park(() -> hasWork() || engine == null, LOOK_NANOS);
        } finally {
            leader.set(null);
        }
        return true;
    }

    private void follow(Turn mine) {
        parked.addFirst(mine);
        if (!hasWork() && (leader.get() != null || engine == null)) {
            LockSupport.parkNanos(this, LOOK_NANOS);
        }
        parked.remove(mine);
    }

    // ----------------------------------------------------------------------------------------- those who bring calls

    @Override
    public void put(Server.Call call) throws InterruptedException {
        Turn mine = TURN.get();
        if (mine != null && mine.reading) {
            if (isClientBackoffEnabled()) {
                super.put(call); // it throws and does not wait
            } else if (!offer(call)) {
                mine.taken = call;
            }
            return;
        }
        super.put(call);
        wakeOne();
    }

    @Override
    public boolean add(Server.Call call) {
        boolean added = super.add(call);
        wakeOne();
        return added;
    }

    /** The server's own thread: what is ready and nobody waits for goes to an idle handler, or is read here. */
    void relieve() {
        while (!ready.isEmpty() && leader.get() == null) {
            Turn one = parked.pollFirst();
            if (one != null) {
                LockSupport.unpark(one.thread);
                return;
            }
            CallChannel channel = ready.poll();
            if (channel != null) {
                serve.accept(channel);
            }
        }
    }
}
