// SPDX-License-Identifier: Apache-2.0
// The threads of a fetch client: what must not hold up the engine.
package org.verbena.spark.read;

import java.util.concurrent.Executors;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;

/** Thread safe. */
final class FetchThreads implements AutoCloseable {
    private static final int THREADS = 2;

    private final ScheduledExecutorService threads = Executors.newScheduledThreadPool(THREADS, task -> {
        Thread thread = new Thread(task, "verbena-fetch");
        thread.setDaemon(true);
        return thread;
    });

    /** False when the executor is stopping, and the task will not run. */
    boolean run(Runnable task) {
        try {
            threads.execute(task);
            return true;
        } catch (RejectedExecutionException e) {
            return false;
        }
    }

    /** Runs it each second. */
    void eachSecond(Runnable task) {
        threads.scheduleWithFixedDelay(task, 1, 1, TimeUnit.SECONDS);
    }

    @Override
    public void close() {
        threads.shutdown();
    }
}
