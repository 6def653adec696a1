// SPDX-License-Identifier: Apache-2.0
// Memory that map outputs have left goes back to the system.
package org.verbena.spark;

import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.verbena.spark.store.SlabStore;

/** A thread that looks now and then: at this executor's own slabs, and at those that its neighbours have given back. */
final class IdleMemory implements AutoCloseable {
    private static final Logger LOG = LoggerFactory.getLogger(IdleMemory.class);
    /** How long slabs stay without an output: a shuffle that follows soon finds their pages there. */
    private static final long IDLE_SECONDS = 60;
    private static final long LOOK_SECONDS = 15;

    private final ShuffleEngine engine;
    private final ScheduledExecutorService timer = Executors.newSingleThreadScheduledExecutor(task -> {
        Thread thread = new Thread(task, "verbena-idle");
        thread.setDaemon(true);
        return thread;
    });

    IdleMemory(ShuffleEngine engine) {
        this.engine = engine;
        timer.scheduleWithFixedDelay(this::look, LOOK_SECONDS, LOOK_SECONDS, TimeUnit.SECONDS);
    }

    private void look() {
        try {
            SlabStore store = engine.existingStore();
            if (store != null) {
                store.trim(TimeUnit.SECONDS.toNanos(IDLE_SECONDS));
            }
            engine.neighbours().prune();
        } catch (RuntimeException e) {
            LOG.warn("cannot give idle memory back: {}", e.toString());
        }
    }

    /** Waits until a look that is under way is over. */
    @Override
    public void close() {
        timer.shutdown();
        try {
            if (!timer.awaitTermination(LOOK_SECONDS, TimeUnit.SECONDS)) {
                LOG.debug("still giving idle memory back");
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }
}
