// SPDX-License-Identifier: Apache-2.0
// What a block cost: executor CPU from /proc, task CPU and shuffle bytes from Spark's listener bus.
package org.verbena.ohb.spark;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.concurrent.TimeoutException;
import org.apache.spark.SparkContext;
import org.apache.spark.executor.ShuffleReadMetrics;
import org.apache.spark.executor.TaskMetrics;
import org.apache.spark.scheduler.SparkListener;
import org.apache.spark.scheduler.SparkListenerTaskEnd;

/** Sums over tasks since the last {@link #reset}. The listener thread writes, the main thread reads: synchronized. */
final class Costs extends SparkListener {
    private static final long MILLIS_PER_TICK = 10; // USER_HZ is 100 on every Linux that runs a JVM
    private static final int UTIME = 11; // fields of /proc/PID/stat counted after the command name

    private final SparkContext context;
    private long tasks;
    private long failedTasks;
    private long taskCpuNanos;
    private long gcMillis;
    private long written;
    private long readLocal;
    private long readRemote;
    private long fetchWaitMillis;
    private long writeNanos;

    Costs(SparkContext context) {
        this.context = context;
        context.addSparkListener(this);
    }

    @Override
    public synchronized void onTaskEnd(SparkListenerTaskEnd end) {
        tasks++;
        if (!end.taskInfo().successful()) {
            failedTasks++;
        }
        TaskMetrics metrics = end.taskMetrics();
        if (metrics == null) {
            return;
        }
        ShuffleReadMetrics read = metrics.shuffleReadMetrics();
        taskCpuNanos += metrics.executorCpuTime() + metrics.executorDeserializeCpuTime();
        gcMillis += metrics.jvmGCTime();
        written += metrics.shuffleWriteMetrics().bytesWritten();
        writeNanos += metrics.shuffleWriteMetrics().writeTime();
        readLocal += read.localBytesRead();
        readRemote += read.remoteBytesRead();
        fetchWaitMillis += read.fetchWaitTime();
    }

    /** Waits for outstanding events, then starts counting from zero. */
    void reset() throws TimeoutException {
        context.listenerBus().waitUntilEmpty(30_000);
        synchronized (this) {
            tasks = 0;
            failedTasks = 0;
            taskCpuNanos = 0;
            gcMillis = 0;
            written = 0;
            readLocal = 0;
            readRemote = 0;
            fetchWaitMillis = 0;
            writeNanos = 0;
        }
    }

    /** Waits for outstanding events, then returns the sums by name. */
    Map<String, Object> read() throws TimeoutException {
        context.listenerBus().waitUntilEmpty(30_000);
        Map<String, Object> values = new LinkedHashMap<>();
        synchronized (this) {
            values.put("tasks", tasks);
            values.put("failed_tasks", failedTasks);
            values.put("task_cpu_ms", taskCpuNanos / 1_000_000);
            values.put("gc_ms", gcMillis);
            values.put("shuffle_write_bytes", written);
            values.put("shuffle_write_ms", writeNanos / 1_000_000);
            values.put("shuffle_read_local_bytes", readLocal);
            values.put("shuffle_read_remote_bytes", readRemote);
            values.put("fetch_wait_ms", fetchWaitMillis);
        }
        return values;
    }

    /** CPU time in milliseconds of all executor processes of this application on this host; -1 if none is visible. */
    long executorCpuMillis() {
        long total = 0;
        int seen = 0;
        try (DirectoryStream<Path> processes = Files.newDirectoryStream(Path.of("/proc"), "[0-9]*")) {
            for (Path process : processes) {
                long millis = isExecutor(process) ? cpuMillis(process) : -1;
                if (millis >= 0) {
                    total += millis;
                    seen++;
                }
            }
        } catch (IOException e) {
            return -1;
        }
        return seen == 0 ? -1 : total;
    }

    private boolean isExecutor(Path process) {
        try {
            String line = new String(Files.readAllBytes(process.resolve("cmdline")), StandardCharsets.UTF_8);
            return line.contains("CoarseGrainedExecutorBackend") && line.contains(context.applicationId());
        } catch (IOException e) {
            return false; // the process ended, or belongs to somebody else
        }
    }

    private static long cpuMillis(Path process) {
        try {
            String stat = Files.readString(process.resolve("stat"));
            String[] fields = stat.substring(stat.lastIndexOf(')') + 2).split(" ");
            return (Long.parseLong(fields[UTIME]) + Long.parseLong(fields[UTIME + 1])) * MILLIS_PER_TICK;
        } catch (IOException e) {
            return -1;
        }
    }
}
