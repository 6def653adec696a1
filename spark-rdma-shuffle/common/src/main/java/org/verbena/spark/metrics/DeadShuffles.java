// SPDX-License-Identifier: Apache-2.0
// Makes the driver find out which shuffles nobody refers to any more.
package org.verbena.spark.metrics;

import java.util.AbstractMap.SimpleEntry;
import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.Executor;
import java.util.function.LongSupplier;

/**
 * Spark forgets a shuffle when the driver's garbage collector finds that nothing refers to it, which may take half an hour
 * where the driver has little to do; until then its outputs fill the executors' memory, and would go to disk. Executors whose
 * memory is nearly full ask for a collection; at most a twentieth of the driver's time goes into them, and soon less where
 * they do not help. Thread safe.
 */
public final class DeadShuffles {
    private static final long LEAST_PAUSE_NANOS = 2_000_000_000L;
    private static final int SHARE = 20;
    private static final int MOST_PATIENCE = 64;

    private final boolean allowed;
    private final Runnable collection;
    private final Executor thread;
    private final LongSupplier clock;
    private final Map<Object, Long> removed = new HashMap<>();
    private boolean running;
    private boolean helped;
    private int patience = 1;
    private long notBefore;

    /**
     * Collects the heap of this process, in a thread that ends then.
     *
     * @param allowed spark.verbena.driverGc
     */
    public DeadShuffles(boolean allowed) {
        this(allowed, System::gc, DeadShuffles::inThread, System::nanoTime);
    }

    /**
     * Collects in another way.
     *
     * @param clock gives nanoseconds
     */
    DeadShuffles(boolean allowed, Runnable collection, Executor thread, LongSupplier clock) {
        this.allowed = allowed;
        this.collection = collection;
        this.thread = thread;
        this.clock = clock;
        this.notBefore = clock.getAsLong();
    }

    private static void inThread(Runnable work) {
        Thread thread = new Thread(work, "verbena-dead-shuffles");
        thread.setDaemon(true);
        thread.start();
    }

    /**
     * What an executor sends that has little memory left: classes of the JDK, which every class loader knows.
     *
     * @param removed shuffles that it has forgotten so far
     */
    public static Object question(String executor, long removed) {
        return new SimpleEntry<>(executor, removed);
    }

    /** Takes a message of a plugin; what is no question is left alone. */
    public void take(Object message) {
        if (allowed && message instanceof Map.Entry<?, ?> entry && entry.getValue() instanceof Long count
                && begins(entry.getKey(), count)) {
            collect();
        }
    }

    /** Whether it is time for a collection; an executor that has forgotten shuffles since its last question was helped. */
    private synchronized boolean begins(Object executor, long count) {
        Long before = removed.put(executor, count);
        helped |= before == null || count > before;
        if (running || clock.getAsLong() - notBefore < 0) {
            return false;
        }
        patience = helped ? 1 : Math.min(2 * patience, MOST_PATIENCE);
        helped = false;
        running = true;
        return true;
    }

    private void collect() {
        thread.execute(() -> {
            long before = clock.getAsLong();
            try {
                collection.run();
            } finally {
                ended(before);
            }
        });
    }

    private synchronized void ended(long began) {
        long now = clock.getAsLong();
        running = false;
        notBefore = now + patience * Math.max(LEAST_PAUSE_NANOS, SHARE * (now - began));
    }
}
