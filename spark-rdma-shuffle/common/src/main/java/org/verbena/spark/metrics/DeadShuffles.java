// SPDX-License-Identifier: Apache-2.0
// Makes the driver find out which shuffles nobody refers to any more.
package org.verbena.spark.metrics;

import java.util.AbstractMap.SimpleEntry;
import java.util.Map;
import java.util.concurrent.Executor;
import java.util.function.LongSupplier;

/**
 * Spark forgets a shuffle when the driver's garbage collector finds that nothing refers to it, which may take half an hour
 * where the driver has little to do; until then its outputs fill the executors' memory, and would go to disk. Executors whose
 * memory is nearly full ask for a collection; at most a hundredth of the driver's time goes into them. Thread safe.
 */
public final class DeadShuffles {
    private static final long LEAST_PAUSE_NANOS = 2_000_000_000L;
    private static final int SHARE = 100;

    private final Runnable collection;
    private final Executor thread;
    private final LongSupplier clock;
    private boolean running;
    private long notBefore;

    /** Collects the heap of this process, in a thread that ends then. */
    public DeadShuffles() {
        this(System::gc, DeadShuffles::inThread, System::nanoTime);
    }

    /**
     * Collects in another way.
     *
     * @param clock gives nanoseconds
     */
    DeadShuffles(Runnable collection, Executor thread, LongSupplier clock) {
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

    /** What an executor sends that has little memory left: classes of the JDK, which every class loader knows. */
    public static Object question(String executor) {
        return new SimpleEntry<>(executor, Boolean.TRUE);
    }

    /** Takes a message of a plugin; what is no question is left alone. */
    public void take(Object message) {
        if (message instanceof Map.Entry<?, ?> entry && Boolean.TRUE.equals(entry.getValue())) {
            collect();
        }
    }

    private void collect() {
        synchronized (this) {
            if (running || clock.getAsLong() - notBefore < 0) {
                return;
            }
            running = true;
        }
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
        notBefore = now + Math.max(LEAST_PAUSE_NANOS, SHARE * (now - began));
    }
}
