// SPDX-License-Identifier: Apache-2.0
package org.verbena.core.plugin;

import java.io.IOException;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.function.BiConsumer;
import java.util.function.Consumer;

/**
 * The start of what a server serves by, tried again as long as it fails: what stands in its way, such as a port, memory or
 * descriptors that others have, or a key file that is not there yet, may go. After 30 s, doubled with each failure up to 8 minutes.
 * Thread safe.
 */
public final class RepeatedStart implements AutoCloseable {
    private static final long FIRST_SECONDS = 30;
    private static final int MAX_DOUBLINGS = 4;

    /** What is tried. */
    @FunctionalInterface
    public interface Start {
        /**
         * Starts. When it fails it leaves nothing behind.
         *
         * @throws IOException when it may work later; other exceptions end the tries
         */
        void run() throws IOException;
    }

    private final Start start;
    private final Consumer<String> failed;
    private final BiConsumer<Long, Runnable> timer;
    private int failures;
    private String last;
    private boolean closed;

    /** timer: runs a task in so many seconds, on a thread that may block. */
    RepeatedStart(Start start, Consumer<String> failed, BiConsumer<Long, Runnable> timer) {
        this.start = start;
        this.failed = failed;
        this.timer = timer;
    }

    /**
     * Tries on the caller's thread, and goes on in the background when that fails by an IOException.
     *
     * @param thread name of the threads of later tries
     * @param start what is tried
     * @param failed told why a try has failed, when the text is another one than that of the try before
     * @return to be closed when nothing is to be started any more
     */
    public static RepeatedStart begin(String thread, Start start, Consumer<String> failed) {
        RepeatedStart begun = new RepeatedStart(start, failed, (seconds, task) ->
            CompletableFuture.delayedExecutor(seconds, TimeUnit.SECONDS, due -> {
                Thread runs = new Thread(due, thread);
                runs.setDaemon(true);
                runs.start();
            }).execute(task));
        begun.attempt();
        return begun;
    }

    synchronized void attempt() {
        if (closed) {
            return;
        }
        try {
            start.run();
        } catch (IOException e) {
            tell(e);
            timer.accept(FIRST_SECONDS << Math.min(failures++, MAX_DOUBLINGS), this::again);
        }
    }

    private void again() {
        try {
            attempt();
        } catch (RuntimeException | LinkageError e) {
            tell(e);
        }
    }

    private synchronized void tell(Throwable cause) {
        String text = cause.getMessage() == null ? cause.toString() : cause.getMessage();
        if (!text.equals(last)) {
            last = text;
            failed.accept(text);
        }
    }

    /** Ends the tries; waits for one that runs now. */
    @Override
    public synchronized void close() {
        closed = true;
    }
}
