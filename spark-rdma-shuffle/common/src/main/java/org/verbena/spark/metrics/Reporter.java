// SPDX-License-Identifier: Apache-2.0
// Tells the driver what an executor chose, and its numbers: when no task is left, else every ten seconds.
package org.verbena.spark.metrics;

import java.io.IOException;
import java.util.AbstractMap.SimpleEntry;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.concurrent.Executors;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Supplier;
import org.apache.spark.api.plugin.PluginContext;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** The messages are classes of the JDK, which the driver can read whatever its class loader. Thread safe. */
public final class Reporter implements AutoCloseable {
    private static final Logger LOG = LoggerFactory.getLogger(Reporter.class);
    private static final long IDLE_MILLIS = 200;
    private static final long PAUSE_MILLIS = 10_000;

    private final PluginContext context;
    private final Supplier<Map<String, Long>> numbers;
    private final Supplier<String> choice;
    private final AtomicInteger tasks = new AtomicInteger();
    private final AtomicBoolean idleArmed = new AtomicBoolean();
    private final AtomicBoolean busyArmed = new AtomicBoolean();
    private final ScheduledExecutorService timer;
    private final long pauseMillis;
    private volatile long lastSent;
    /** The last choice that the driver was told; null before the first one. */
    private String told;

    /**
     * Starts a daemon thread.
     *
     * @param choice what the executor uses and why; null while it is not known
     */
    public Reporter(PluginContext context, Supplier<Map<String, Long>> numbers, Supplier<String> choice) {
        this(context, numbers, choice, PAUSE_MILLIS);
    }

    /** With another pause between messages. */
    Reporter(PluginContext context, Supplier<Map<String, Long>> numbers, Supplier<String> choice, long pauseMillis) {
        this.pauseMillis = pauseMillis;
        this.lastSent = System.nanoTime() - TimeUnit.MILLISECONDS.toNanos(pauseMillis);
        this.context = context;
        this.numbers = numbers;
        this.choice = choice;
        this.timer = Executors.newSingleThreadScheduledExecutor(task -> {
            Thread thread = new Thread(task, "verbena-report");
            thread.setDaemon(true);
            return thread;
        });
    }

    /** Any thread; returns at once. */
    public void taskStarted() {
        tasks.incrementAndGet();
    }

    /** Any thread; returns at once. */
    public void taskEnded() {
        if (tasks.decrementAndGet() <= 0) {
            later(idleArmed, IDLE_MILLIS, this::sendWhenIdle);
        } else {
            long since = TimeUnit.NANOSECONDS.toMillis(System.nanoTime() - lastSent);
            later(busyArmed, Math.max(0, pauseMillis - since), this::sendWhileBusy);
        }
    }

    private void later(AtomicBoolean armed, long millis, Runnable what) {
        if (armed.compareAndSet(false, true)) {
            try {
                timer.schedule(what, millis, TimeUnit.MILLISECONDS);
            } catch (RejectedExecutionException e) {
                LOG.debug("the executor is stopping");
            }
        }
    }

    /** The driver's summary shall have what the last tasks did. */
    private void sendWhenIdle() {
        idleArmed.set(false);
        if (tasks.get() <= 0) {
            send();
        }
    }

    private void sendWhileBusy() {
        busyArmed.set(false);
        if (System.nanoTime() - lastSent >= TimeUnit.MILLISECONDS.toNanos(pauseMillis)) {
            send();
        }
    }

    private synchronized void send() {
        lastSent = System.nanoTime();
        try {
            String chosen = choice.get();
            if (chosen != null && !chosen.equals(told)) {
                context.send(new SimpleEntry<>(context.executorID(), chosen));
                told = chosen;
            }
            context.send(new SimpleEntry<>(context.executorID(), new LinkedHashMap<>(numbers.get())));
        } catch (IOException | RuntimeException e) {
            LOG.debug("the driver is not told: {}", e.toString());
        }
    }

    /** Sends the last numbers and ends the thread. */
    @Override
    public void close() {
        timer.shutdownNow();
        send();
    }
}
