// SPDX-License-Identifier: Apache-2.0
// How many tasks an executor runs at a time.
package org.verbena.spark;

import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.apache.spark.SparkConf;
import org.apache.spark.resource.ResourceProfile;
import org.verbena.spark.read.BufferBounds;
import org.verbena.spark.read.DirectMemory;

/** Cores of an executor by cores of a task, of its resource profile, with the defaults of Spark's cluster managers. */
final class TaskSlots {
    private static final String CORES = "spark.executor.cores";
    /** local[4], local[*], local[4,2] with failures that are allowed. */
    private static final Pattern LOCAL = Pattern.compile("local\\[\\s*([0-9]+|\\*)\\s*(?:,[^,]*)?]");
    /** local-cluster[workers, cores of each, memory of each]. */
    private static final Pattern LOCAL_CLUSTER = Pattern.compile("local-cluster\\[[^,]*,\\s*([0-9]+)\\s*,[^,]*]");

    private TaskSlots() {
    }

    /** Of the executor of this process. */
    static int here(SparkConf conf) {
        ResourceProfile profile = OwnBackend.profile();
        int cores = OwnBackend.cores();
        return of(cores > 0 ? cores : cores(conf, profile), cpus(conf, profile));
    }

    /** Of an executor of the default profile, which the configuration describes. */
    static int byDefault(SparkConf conf) {
        return byProfile(conf, null);
    }

    /** Of an executor of this profile; what it does not name is the default profile's. Null: the default one. */
    static int byProfile(SparkConf conf, ResourceProfile profile) {
        return of(cores(conf, profile), cpus(conf, profile));
    }

    /** Most bytes of blocks that a task has asked for and not read yet. */
    static long inFlight(SparkConf conf) {
        return conf.getSizeAsMb("spark.reducer.maxSizeInFlight", "48m") << 20;
    }

    /** Buffers of the executor of this process, which its tasks need and its container has to hold. */
    static BufferBounds buffers(SparkConf conf) {
        return BufferBounds.of(here(conf), inFlight(conf), DirectMemory.limit());
    }

    /** Buffers of an executor of the default profile whose JVM may have so many bytes of direct memory: the heap's, as a rule. */
    static BufferBounds buffers(SparkConf conf, long direct) {
        return BufferBounds.of(byDefault(conf), inFlight(conf), direct);
    }

    private static int of(long cores, double cpus) {
        return (int) Math.max(1, cores / Math.max(1, (long) cpus));
    }

    private static double cpus(SparkConf conf, ResourceProfile profile) {
        return profile != null && profile.taskResourcesJMap().containsKey("cpus")
            ? profile.taskResourcesJMap().get("cpus").amount() : conf.getInt("spark.task.cpus", 1);
    }

    private static long cores(SparkConf conf, ResourceProfile profile) {
        return profile != null && profile.executorResourcesJMap().containsKey("cores")
            ? profile.executorResourcesJMap().get("cores").amount() : cores(conf);
    }

    private static int cores(SparkConf conf) {
        String master = conf.get("spark.master", "");
        int all = Runtime.getRuntime().availableProcessors();
        Matcher local = LOCAL.matcher(master);
        if (local.matches()) {
            return local.group(1).equals("*") ? all : Integer.parseInt(local.group(1));
        }
        Matcher cluster = LOCAL_CLUSTER.matcher(master);
        int usual = cluster.matches() ? Integer.parseInt(cluster.group(1))
            : master.equals("local") || ContainerMemory.isSized(conf) ? 1 : all;
        return conf.getInt(CORES, usual);
    }
}
