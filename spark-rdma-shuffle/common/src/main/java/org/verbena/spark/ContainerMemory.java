// SPDX-License-Identifier: Apache-2.0
// What a container's memory limit leaves for map outputs.
package org.verbena.spark;

import java.io.IOException;
import java.nio.file.Path;
import org.apache.spark.SparkConf;
import org.verbena.core.plugin.ControlGroups;

/**
 * The limit that kills an executor, and what else has to fit below it. On YARN and Kubernetes the limit is what Spark asks
 * for, even where no control group enforces it.
 *
 * @param limit bytes, Long.MAX_VALUE without a limit
 * @param heap bytes of the JVM's heap
 * @param others bytes of all other memory: the JVM's own, Netty's, Python's, our buffers
 */
record ContainerMemory(long limit, long heap, long others) {
    /** No container. */
    static final ContainerMemory NONE = new ContainerMemory(Long.MAX_VALUE, 0, 0);
    private static final long LEAST_OVERHEAD = 384L << 20;
    /** Buffers that fetches and replies keep (read/DirectMemory). */
    private static final long BUFFERS = 192L << 20;

    /** The container of this process, or the one that its cluster manager gives it. */
    static ContainerMemory here(SparkConf conf) throws IOException {
        return of(conf, ControlGroups.memoryLimit(Path.of("/")), Runtime.getRuntime().maxMemory());
    }

    /**
     * The container of an executor.
     *
     * @param group limit of its control group
     * @param heap bytes of its heap
     */
    static ContainerMemory of(SparkConf conf, long group, long heap) {
        long limit = Math.min(group, isSized(conf) ? asked(conf) : Long.MAX_VALUE);
        return new ContainerMemory(limit, heap, Math.max(LEAST_OVERHEAD, heap / 10) + BUFFERS + offHeap(conf)
            + conf.getSizeAsBytes("spark.executor.pyspark.memory", "0"));
    }

    /** Whether each executor has a container of its own, whose size Spark asks for. */
    static boolean isSized(SparkConf conf) {
        String master = conf.get("spark.master", "");
        return master.equals("yarn") || master.startsWith("k8s://");
    }

    /** What Spark asks YARN or Kubernetes for; other resource profiles than the default one are not known here. */
    private static long asked(SparkConf conf) {
        long memory = conf.getSizeAsBytes("spark.executor.memory", "1g");
        double factor = conf.getDouble("spark.executor.memoryOverheadFactor", 0.1);
        long overhead = conf.contains("spark.executor.memoryOverhead") ? conf.getSizeAsMb("spark.executor.memoryOverhead") << 20
            : Math.max(conf.getSizeAsMb("spark.executor.minMemoryOverhead", "384m") << 20, (long) (memory * factor));
        return memory + overhead + offHeap(conf) + conf.getSizeAsBytes("spark.executor.pyspark.memory", "0");
    }

    private static long offHeap(SparkConf conf) {
        return conf.getBoolean("spark.memory.offHeap.enabled", false)
            ? conf.getSizeAsBytes("spark.memory.offHeap.size", "0") : 0;
    }

    /** The container of an executor that Spark will ask for, as the driver knows it. */
    static ContainerMemory ofExecutors(SparkConf conf) {
        return of(conf, Long.MAX_VALUE, conf.getSizeAsBytes("spark.executor.memory", "1g"));
    }

    /** Most bytes of map outputs for each of so many executors in the container; less than 0 when the rest does not fit. */
    long room(int executors) {
        return limit == Long.MAX_VALUE ? Long.MAX_VALUE : limit / sharing(executors) - heap - others;
    }

    /** Executors that the container's cores would allow, but not more than fit in its memory. */
    private long sharing(int executors) {
        return Math.max(1, Math.min(executors, limit / Math.max(1, heap + others)));
    }

    /** The sum, for the log. */
    String sum(int executors) {
        long sharing = sharing(executors);
        return "container of " + (limit >> 20) + " MiB" + (sharing > 1 ? " for " + sharing + " executors" : "")
            + " less " + (heap >> 20) + " MiB of heap and " + (others >> 20) + " MiB of other memory";
    }
}
