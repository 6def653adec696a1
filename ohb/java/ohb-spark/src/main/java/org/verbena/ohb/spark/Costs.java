// SPDX-License-Identifier: Apache-2.0
// What a block cost: executor CPU and disk bytes from /proc, task CPU and shuffle bytes from Spark's listener bus.
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

    /**
     * What the executor processes used since they began.
     *
     * @param cpuMillis CPU time
     * @param written bytes given to file systems that have a device, when they went into the page cache
     * @param read bytes that came from devices
     */
    record Used(long cpuMillis, long written, long read) {
        Used plus(Used other) {
            return new Used(cpuMillis + other.cpuMillis, written + other.written, read + other.read);
        }
    }

    /** Of all executor processes of this application on this host; null if none is visible. */
    Used executors() {
        Used total = null;
        try (DirectoryStream<Path> processes = Files.newDirectoryStream(Path.of("/proc"), "[0-9]*")) {
            for (Path process : processes) {
                Used used = isExecutor(process) ? used(process) : null;
                if (used != null) {
                    total = total == null ? used : total.plus(used);
                }
            }
        } catch (IOException e) {
            return null;
        }
        return total;
    }

    private boolean isExecutor(Path process) {
        try {
            String line = new String(Files.readAllBytes(process.resolve("cmdline")), StandardCharsets.UTF_8);
            return line.contains("CoarseGrainedExecutorBackend") && line.contains(context.applicationId());
        } catch (IOException e) {
            return false; // the process ended, or belongs to somebody else
        }
    }

    /** Null when it has ended. */
    private static Used used(Path process) {
        try {
            String stat = Files.readString(process.resolve("stat"));
            String[] fields = stat.substring(stat.lastIndexOf(')') + 2).split(" ");
            String io = Files.readString(process.resolve("io"));
            return new Used((Long.parseLong(fields[UTIME]) + Long.parseLong(fields[UTIME + 1])) * MILLIS_PER_TICK,
                number(io, "\nwrite_bytes:"), number(io, "\nread_bytes:"));
        } catch (IOException e) {
            return null;
        }
    }

    /** Behind a name at the start of a line. */
    private static long number(String lines, String name) {
        int at = lines.indexOf(name) + name.length();
        return Long.parseLong(lines.substring(at, lines.indexOf('\n', at)).trim());
    }
}
