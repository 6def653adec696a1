// SPDX-License-Identifier: Apache-2.0
// The threads of a DataNode that look after the shared path.
package org.verbena.hadoop.hdfs.shared;

import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;

/** Runs until it is closed. */
public final class SharedThreads implements AutoCloseable {
    private static final long PATIENCE_SECONDS = 10;

    private final SharedTier tier;
    private final Thread beats;
    private final Thread acquisition;
    private volatile boolean closed;

    private SharedThreads(SharedTier tier) {
        this.tier = tier;
        beats = thread("verbena-shared-beat", tier::beat);
        acquisition = thread("verbena-shared-acquire", tier::acquire);
    }

    /**
     * Begins. The first volume is acquired on this thread, because a DataNode that starts holds locks which serving needs; but only
     * if the file system answers: one that does not would keep the DataNode from starting.
     */
    public static SharedThreads begin(SharedTier tier) throws InterruptedException {
        SharedThreads threads = new SharedThreads(tier);
        CountDownLatch answered = new CountDownLatch(1);
        Thread question = new Thread(() -> {
            tier.look();
            answered.countDown();
        }, "verbena-shared-question");
        question.setDaemon(true);
        question.start();
        if (answered.await(PATIENCE_SECONDS, TimeUnit.SECONDS)) {
            threads.beats.start();
            tier.acquire();
        } else {
            SharedTier.LOG.warn("Verbena hhh-l: the shared path has not answered within {} s; this DataNode starts without it, and "
                + "uses it as soon as it answers", PATIENCE_SECONDS);
            threads.beats.start();
        }
        threads.acquisition.start();
        return threads;
    }

    private Thread thread(String name, Runnable work) {
        Thread thread = new Thread(() -> {
            try {
                while (!closed) {
                    runOnce(name, work);
                    TimeUnit.NANOSECONDS.sleep(tier.beatNanos());
                }
            } catch (InterruptedException e) {
                return; // closed
            }
        }, name);
        thread.setDaemon(true);
        return thread;
    }

    private static void runOnce(String name, Runnable work) {
        try {
            work.run();
        } catch (RuntimeException e) {
            SharedTier.LOG.warn("Verbena hhh-l: {} goes on after {}", name, e.toString(), e);
        }
    }

    /** Ends both threads; volumes that are owned are left for the DataNode's next process. */
    @Override
    public void close() {
        closed = true;
        beats.interrupt();
        acquisition.interrupt();
        try {
            beats.join(TimeUnit.SECONDS.toMillis(PATIENCE_SECONDS));
            acquisition.join(TimeUnit.SECONDS.toMillis(PATIENCE_SECONDS));
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
        tier.leave();
    }
}
