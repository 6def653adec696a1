// SPDX-License-Identifier: Apache-2.0
package org.verbena.core.plugin;

import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.function.BiConsumer;

/**
 * One try to connect to another process. Who wants the connection waits for it, and then does without: for a twentieth of the
 * time that the settings give while nobody there answers, else for all of it. Thread safe.
 */
public final class Attempt {
    private static final int SILENT_PART = 20;

    /** What the attempt is at. */
    private enum Phase {
        /** This process does something first: it starts the core. */
        PREPARING,
        /** The other process is to answer. */
        ASKED,
        /** It did not for long: who waits goes on without it. */
        SILENT,
        /** It has answered: the connection is being made. */
        ANSWERED,
        /** The time is up, or the attempt has ended. */
        OVER
    }

    private final BiConsumer<Long, Runnable> timer;
    private final long waitMillis;
    private final long end;
    // Guarded by this:
    private Phase phase = Phase.PREPARING;
    private int questions;
    private CompletableFuture<Void> decided = new CompletableFuture<>();

    /**
     * Begins; the caller has to call {@link #end}.
     *
     * @param waitMillis how long users wait for it, at most
     */
    public Attempt(long waitMillis) {
        this(waitMillis, (millis, task) ->
            new CompletableFuture<Void>().completeOnTimeout(null, millis, TimeUnit.MILLISECONDS).thenRun(task));
    }

    /** timer: runs a task in so many milliseconds. */
    Attempt(long waitMillis, BiConsumer<Long, Runnable> timer) {
        this.timer = timer;
        this.waitMillis = waitMillis;
        this.end = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(waitMillis);
        if (waitMillis == 0) {
            end();
        } else {
            timer.accept(waitMillis, this::end);
        }
    }

    /** The other process, or first its host, is to answer from now on: to be called before each question. */
    public void asks() {
        int question;
        synchronized (this) {
            if (phase == Phase.ANSWERED || phase == Phase.OVER) {
                return;
            }
            hope();
            phase = Phase.ASKED;
            question = ++questions;
        }
        timer.accept(Math.max(1, waitMillis / SILENT_PART), () -> silent(question));
    }

    private void silent(int question) {
        CompletableFuture<Void> told;
        synchronized (this) {
            if (phase != Phase.ASKED || question != questions) {
                return;
            }
            phase = Phase.SILENT;
            told = decided;
        }
        told.complete(null);
    }

    /** It has answered, perhaps late: the connection is being made, and is worth waiting for. */
    public synchronized void answered() {
        hope();
        phase = phase == Phase.OVER ? Phase.OVER : Phase.ANSWERED;
    }

    /** Who was silent goes on after all: it is waited for again. */
    private void hope() {
        if (phase == Phase.SILENT) {
            decided = new CompletableFuture<>();
        }
    }

    /** The connection stands, or cannot be made. Idempotent. */
    public void end() {
        CompletableFuture<Void> told;
        synchronized (this) {
            phase = Phase.OVER;
            told = decided;
        }
        told.complete(null);
    }

    /** True while the other process has not answered for so long that nobody waits for it. */
    public synchronized boolean isSilent() {
        return phase == Phase.SILENT;
    }

    /** Returns how much of the whole time is left, in milliseconds. */
    public long leftMillis() {
        return Math.max(0, TimeUnit.NANOSECONDS.toMillis(end - System.nanoTime()));
    }

    /** Completes when nobody should wait any longer; the caller's own. */
    public synchronized CompletableFuture<Void> decided() {
        return decided.copy();
    }

    /** Waits until then; an interrupt ends the wait and stays. */
    public void await() {
        try {
            decided().get();
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        } catch (ExecutionException e) {
            throw new IllegalStateException(e); // nobody completes it so
        }
    }
}
