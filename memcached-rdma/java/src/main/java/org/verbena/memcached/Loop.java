// SPDX-License-Identifier: Apache-2.0
package org.verbena.memcached;

import java.io.IOException;
import java.nio.channels.ClosedChannelException;
import java.nio.channels.SelectableChannel;
import java.nio.channels.SelectionKey;
import java.nio.channels.Selector;
import java.util.ArrayDeque;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.LongConsumer;

/**
 * The client's thread: sockets, connecting, deadlines. It waits for nothing but its selector. Tasks come from any thread; their
 * number is bounded by that of the calls that servers admit.
 */
final class Loop implements AutoCloseable {
    static final long NEVER = Long.MAX_VALUE;
    private static final System.Logger LOG = System.getLogger("org.verbena.memcached");
    private static final long BASE = System.nanoTime();
    private static final long MS = 1_000_000;
    private static final long CLOSE_MS = 10_000;

    /** What is registered with a channel. */
    interface Ready {
        void ready(SelectionKey key);
    }

    private final Selector selector;
    private final Thread thread;
    private final ConcurrentLinkedQueue<Runnable> tasks = new ConcurrentLinkedQueue<>();
    private final ArrayDeque<Runnable> last = new ArrayDeque<>();
    private final AtomicBoolean asleep = new AtomicBoolean();
    private final AtomicLong due = new AtomicLong(NEVER);
    private final LongConsumer check;
    private final Runnable end;
    private volatile boolean closed;

    /** check: called with the time when {@link #remind} has asked for it; end: run when the loop ends, on its thread. */
    Loop(LongConsumer check, Runnable end) throws IOException {
        this.check = check;
        this.end = end;
        selector = Selector.open();
        thread = new Thread(this::run, "verbena-memcached");
        thread.setDaemon(true);
    }

    void start() {
        thread.start();
    }

    /** Nanoseconds since the class was loaded. */
    static long now() {
        return System.nanoTime() - BASE;
    }

    boolean isMine() {
        return Thread.currentThread() == thread;
    }

    /** Runs a task on the loop's thread, in order for each thread that calls. Once the loop has ended: on this thread. */
    void execute(Runnable task) {
        tasks.add(task);
        wake();
        if (closed && !isMine()) {
            runTasks();
        }
    }

    /** Runs a task at the end of this turn. The loop's thread. */
    void executeLast(Runnable task) {
        last.add(task);
    }

    /** The check is to run at this time, a time of {@link #now}. Any thread. */
    void remind(long at) {
        long before = due.get();
        while (at < before) {
            if (due.compareAndSet(before, at)) {
                wake();
                return;
            }
            before = due.get();
        }
    }

    private void wake() {
        if (!isMine() && asleep.compareAndSet(true, false)) {
            selector.wakeup();
        }
    }

    /** The loop's thread. */
    SelectionKey register(SelectableChannel channel, int events, Ready ready) throws ClosedChannelException {
        return channel.register(selector, events, ready);
    }

    private void run() {
        try {
            while (!closed) {
                turn();
            }
        } catch (IOException e) {
            LOG.log(System.Logger.Level.ERROR, "the selector has failed: no call is answered any more; close the client", e);
        } finally {
            closed = true;
            guard(end);
            runTasks();
        }
    }

    private void turn() throws IOException {
        runTasks();
        long now = now();
        if (now >= due.get()) {
            due.set(NEVER);
            guard(() -> check.accept(now));
        }
        asleep.set(true);
        long wait = closed || !tasks.isEmpty() ? 0 : due.get() - now();
        if (wait <= 0) {
            selector.selectNow();
        } else {
            selector.select(Math.min(wait / MS + 1, 1L << 30));
        }
        asleep.set(false);
        for (SelectionKey key : selector.selectedKeys()) {
            guard(() -> ((Ready) key.attachment()).ready(key));
        }
        selector.selectedKeys().clear();
    }

    private synchronized void runTasks() {
        for (Runnable task = tasks.poll(); task != null; task = tasks.poll()) {
            guard(task);
        }
        for (Runnable task = last.poll(); task != null; task = last.poll()) {
            guard(task);
        }
    }

    /** An error of one task, or a function of the user's, ends nothing else. */
    private void guard(Runnable task) {
        try {
            task.run();
        } catch (RuntimeException | Error e) {
            LOG.log(System.Logger.Level.ERROR, "a task of the client has failed: " + e, e);
        } finally {
            leaveUninterrupted();
        }
    }

    /** What a function of the user's leaves would close the next channel that is used, and end all waits at once. */
    private void leaveUninterrupted() {
        if (isMine()) {
            Thread.interrupted();
        }
    }

    /** Ends the thread, and waits for that, unless called on it. Idempotent. */
    @Override
    public void close() {
        closed = true;
        selector.wakeup();
        if (isMine()) {
            return;
        }
        try {
            thread.join(CLOSE_MS);
            selector.close();
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        } catch (IOException e) {
            LOG.log(System.Logger.Level.DEBUG, "the selector was not closed", e);
        }
    }
}
