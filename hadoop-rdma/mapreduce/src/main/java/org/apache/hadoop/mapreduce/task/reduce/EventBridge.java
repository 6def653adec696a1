// SPDX-License-Identifier: Apache-2.0
// The stock thread that asks for finished maps; lives here because its class is not public.
package org.apache.hadoop.mapreduce.task.reduce;

import org.apache.hadoop.mapred.TaskUmbilicalProtocol;
import org.apache.hadoop.mapreduce.TaskAttemptID;

/** Owned by the one who started it. */
public final class EventBridge implements AutoCloseable {
    private final EventFetcher<?, ?> fetcher;

    private EventBridge(EventFetcher<?, ?> fetcher) {
        this.fetcher = fetcher;
    }

    /**
     * Starts the thread.
     *
     * @param reduce the reduce attempt
     * @param umbilical the way to the application master
     * @param scheduler told of finished and obsolete maps
     * @param reporter told when the thread fails
     * @param most events per call
     */
    public static <K, V> EventBridge start(TaskAttemptID reduce, TaskUmbilicalProtocol umbilical,
            ShuffleScheduler<K, V> scheduler, ExceptionReporter reporter, int most) {
        EventFetcher<K, V> fetcher = new EventFetcher<>(reduce, umbilical, scheduler, reporter, most);
        fetcher.start();
        return new EventBridge(fetcher);
    }

    /** Ends the thread; waits at most 5 s for it. */
    @Override
    public void close() {
        fetcher.shutDown();
    }
}
