// SPDX-License-Identifier: Apache-2.0
package org.verbena.core;

import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.BiConsumer;
import java.util.function.Consumer;

/**
 * A bounded queue and one thread that works it off, for work that may block (disk, for example). Producers feel
 * back-pressure: {@link #offer} waits at most its time-out. Thread safe.
 *
 * @param <T> the work items
 */
public final class Stage<T> implements AutoCloseable {
    private static final long POLL_MILLIS = 200;
    private static final long CLOSE_MILLIS = 60_000;

    private final ClosingQueue<T> queue;
    private final Consumer<T> work;
    private final BiConsumer<T, Throwable> onError;
    private final Thread thread;
    private final AtomicLong done = new AtomicLong();

    /**
     * Starts the stage.
     *
     * @param name name of its thread, a daemon
     * @param capacity items that may wait
     * @param work called with each item, in order, on the stage's thread
     * @param onError called on that thread with an item whose work threw; what it throws goes to the thread's handler of
     *     uncaught exceptions, and the next item follows
     */
    public Stage(String name, int capacity, Consumer<T> work, BiConsumer<T, Throwable> onError) {
        queue = new ClosingQueue<>(capacity, POLL_MILLIS);
        this.work = work;
        this.onError = onError;
        thread = new Thread(this::run, name);
        thread.setDaemon(true);
        thread.start();
    }

    /**
     * Adds an item.
     *
     * @param item the work, not null
     * @param timeout longest wait for room
     * @param unit its unit
     * @return false when the stage stayed full or is closed
     * @throws InterruptedException when interrupted while waiting
     */
    public boolean offer(T item, long timeout, TimeUnit unit) throws InterruptedException {
        return queue.offer(item, timeout, unit);
    }

    /** Returns the items that wait. */
    public int waiting() {
        return queue.size();
    }

    /** Returns the items worked off so far, failed ones included. */
    public long finished() {
        return done.get();
    }

    /** Takes no more items, works off those that wait, and waits up to 60 s for that. Idempotent. */
    @Override
    public void close() {
        queue.close();
        if (Thread.currentThread() == thread) {
            return;
        }
        try {
            thread.join(CLOSE_MILLIS);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    private void run() {
        while (true) {
            try {
                T item = queue.take();
                if (item == null) {
                    return;
                }
                handle(item);
            } catch (InterruptedException e) {
                queue.close();
            }
        }
    }

    private void handle(T item) {
        try {
            work.accept(item);
        } catch (Throwable e) { // the stage goes on with the next item
            report(item, e);
        } finally {
            Thread.interrupted(); // it was the item's, and would close the queue
            done.incrementAndGet();
        }
    }

    private void report(T item, Throwable failure) {
        try {
            onError.accept(item, failure);
        } catch (Throwable e) { // as if it ended the thread, which the items behind it need
            thread.getUncaughtExceptionHandler().uncaughtException(thread, e);
        }
    }
}
