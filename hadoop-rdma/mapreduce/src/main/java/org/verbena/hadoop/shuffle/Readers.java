// SPDX-License-Identifier: Apache-2.0
// The threads that read a job's map outputs, one for each of the node's local folders.
package org.verbena.hadoop.shuffle;

import java.io.File;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.BiConsumer;
import org.verbena.core.Stage;

/** A disk that stands still, or is slow, keeps only those waiting that want something of it. Thread safe. */
final class Readers {
    private final List<String> folders;
    private final int capacity;
    private final BiConsumer<Runnable, Throwable> onError;
    private final Map<String, Stage<Runnable>> stages = new HashMap<>();
    private boolean closed;

    /**
     * Starts without any thread.
     *
     * @param folders the node's local folders
     * @param capacity tasks that may wait for a folder
     * @param onError told of a task that threw
     */
    Readers(List<String> folders, int capacity, BiConsumer<Runnable, Throwable> onError) {
        this.folders = folders;
        this.capacity = capacity;
        this.onError = onError;
    }

    /** The local folder in which a file lies; empty when it is none of them. */
    String folder(File file) {
        String path = file.getPath();
        String found = "";
        for (String folder : folders) {
            if (path.startsWith(folder + "/") && folder.length() > found.length()) {
                found = folder;
            }
        }
        return found;
    }

    /** Runs a task on a folder's thread. False when too many wait, or it is closed. */
    boolean offer(String folder, Runnable task) {
        Stage<Runnable> stage;
        synchronized (this) {
            if (closed) {
                return false;
            }
            stage = stages.computeIfAbsent(folder, name -> new Stage<>("verbena-shuffle-read", capacity, Runnable::run, onError));
        }
        return offer(stage, task);
    }

    private static boolean offer(Stage<Runnable> stage, Runnable task) {
        try {
            return stage.offer(task, 0, TimeUnit.MILLISECONDS);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            return false;
        }
    }

    /** True when a task would wait for another one behind the one that runs. */
    synchronized boolean isBusy(String folder) {
        Stage<Runnable> stage = stages.get(folder);
        return stage != null && stage.waiting() > 0;
    }

    /**
     * Takes no more tasks, and waits for none of those that it has. Idempotent.
     *
     * @param then run when the last of them has ended, on its thread or on this one
     */
    void close(Runnable then) {
        List<Stage<Runnable>> all;
        synchronized (this) {
            if (closed) {
                return;
            }
            closed = true;
            all = List.copyOf(stages.values());
        }
        AtomicInteger open = new AtomicInteger(all.size() + 1);
        Runnable ended = () -> {
            if (open.decrementAndGet() == 0) {
                then.run();
            }
        };
        for (Stage<Runnable> stage : all) {
            offer(stage, () -> {
                stage.close(); // on its own thread, where that waits for nobody
                ended.run();
            });
        }
        ended.run();
    }
}
