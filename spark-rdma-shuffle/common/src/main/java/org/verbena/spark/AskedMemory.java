// SPDX-License-Identifier: Apache-2.0
// What Spark asks YARN or Kubernetes for, for one executor.
package org.verbena.spark;

import java.util.Map;
import org.apache.spark.SparkConf;
import org.apache.spark.resource.ExecutorResourceRequest;
import org.apache.spark.resource.ResourceProfile;

/**
 * By the default resource profile, which the configuration describes, or by another one, whose executors have other sizes.
 * All in bytes.
 *
 * @param overhead all memory of the JVM but the heap and what follows
 */
record AskedMemory(long heap, long overhead, long offHeap, long python) {
    /** Memory that a collector does not count as heap (Parallel GC's second survivor space), and rounding. */
    private static final double LEAST_OF_ASKED = 0.85;
    private static final double MOST_OF_ASKED = 1.02;

    /** By the default profile. */
    static AskedMemory byDefault(SparkConf conf) {
        long heap = conf.getSizeAsBytes("spark.executor.memory", "1g");
        return new AskedMemory(heap, conf.contains("spark.executor.memoryOverhead")
            ? conf.getSizeAsMb("spark.executor.memoryOverhead") << 20 : overhead(conf, heap), offHeap(conf),
            conf.getSizeAsBytes("spark.executor.pyspark.memory", "0"));
    }

    private static long overhead(SparkConf conf, long heap) {
        return Math.max(conf.getSizeAsMb("spark.executor.minMemoryOverhead", "384m") << 20,
            (long) (heap * conf.getDouble("spark.executor.memoryOverheadFactor", 0.1)));
    }

    private static long offHeap(SparkConf conf) {
        return conf.getBoolean("spark.memory.offHeap.enabled", false)
            ? conf.getSizeAsBytes("spark.memory.offHeap.size", "0") : 0;
    }

    /**
     * For an executor with such a heap whose profile is not known. Where the heap is not the default profile's, it is another
     * profile's, which has at least Spark's least overhead.
     */
    static AskedMemory byHeap(SparkConf conf, long heap) {
        AskedMemory usual = byDefault(conf);
        return heap >= usual.heap * LEAST_OF_ASKED && heap <= usual.heap * MOST_OF_ASKED ? usual
            : new AskedMemory(heap, overhead(conf, heap), usual.offHeap, usual.python);
    }

    /** By a profile of the application; what it does not name is the default profile's, as in Spark. */
    static AskedMemory byProfile(SparkConf conf, ResourceProfile profile) {
        AskedMemory usual = byDefault(conf);
        Map<String, ExecutorResourceRequest> named = profile.executorResourcesJMap();
        return new AskedMemory(bytes(named, "memory", usual.heap), bytes(named, "memoryOverhead", usual.overhead),
            usual.offHeap == 0 ? 0 : bytes(named, "offHeap", usual.offHeap), bytes(named, "pyspark.memory", usual.python));
    }

    private static long bytes(Map<String, ExecutorResourceRequest> named, String what, long otherwise) {
        return named.containsKey(what) ? named.get(what).amount() << 20 : otherwise;
    }

    /** For the executor of this process. */
    static AskedMemory here(SparkConf conf, long heap) {
        ResourceProfile profile = OwnBackend.profile();
        return profile == null ? byHeap(conf, heap) : byProfile(conf, profile);
    }

    /** The container's size. */
    long sum() {
        return heap + overhead + offHeap + python;
    }
}
