// SPDX-License-Identifier: Apache-2.0
// The memory outside the heap that a reducer may fill with map outputs.
package org.verbena.hadoop.shuffle;

import java.nio.ByteBuffer;
import org.apache.hadoop.mapred.JobConf;
import org.apache.hadoop.mapreduce.MRJobConfig;
import org.apache.hadoop.mapreduce.TaskType;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.verbena.core.VbnMemory;
import org.verbena.core.plugin.HostMemory;
import org.verbena.core.plugin.PluginSetting;

/** Counts bytes exactly. Thread safe. */
final class MemoryBudget {
    private static final Logger LOG = LoggerFactory.getLogger(MemoryBudget.class);
    /** Stock's default. */
    static final int FETCHERS = 5;

    private final String why;
    private final String excess;
    private long limit;
    private long used;

    private MemoryBudget(long limit, String why, String excess) {
        this.limit = limit;
        this.why = why;
        this.excess = excess;
    }

    /** @param bytes exactly so many */
    static MemoryBudget of(long bytes) {
        return new MemoryBudget(bytes, "given", null);
    }

    /**
     * What the user set, else what the container has beside the heap and the JVM's own needs: YARN counts all of it.
     *
     * @param heap most bytes of the reducer's heap
     */
    static MemoryBudget of(ShuffleConf conf, JobConf job, long heap) {
        MemoryBudget derived = of((long) job.getMemoryRequired(TaskType.REDUCE) << 20, heap,
            job.getInt(MRJobConfig.SHUFFLE_PARALLEL_COPIES, FETCHERS));
        if (conf.memory() < 0) {
            return derived;
        }
        String key = PluginSetting.SHUFFLE_MEMORY.key();
        return new MemoryBudget(conf.memory(), key, conf.memory() <= derived.limit ? null : key + " of " + (conf.memory() >> 20)
            + " MiB is more than the container has beside heap and JVM, " + (derived.limit >> 20) + " MiB: YARN may end reducers "
            + "beyond their containers; raise mapreduce.reduce.memory.mb, or unset " + key);
    }

    /** What a container has for a reducer with such a heap and so many fetchers, each of which takes two windows. */
    static MemoryBudget of(long container, long heap, int fetchers) {
        long jvm = HostMemory.besideHeap(heap) + (long) fetchers * Rooms.COUNT * Rooms.BYTES;
        return new MemoryBudget(Math.max(0, container - heap - jvm), "container of " + (container >> 20) + " MiB less heap of "
            + (heap >> 20) + " MiB less " + (jvm >> 20) + " MiB for the JVM; more by mapreduce.reduce.memory.mb, or "
            + "a smaller -Xmx in mapreduce.reduce.java.opts", null);
    }

    /** What is wrong with a size that the user set, and the cure; null: nothing. */
    String excess() {
        return excess;
    }

    /** False when there is no room. */
    synchronized boolean take(long bytes) {
        if (bytes > limit - used) {
            return false;
        }
        used += bytes;
        return true;
    }

    synchronized void giveBack(long bytes) {
        used -= bytes;
    }

    /**
     * Of a buffer that no operation uses any more: its pages go back to the system now, not when the JVM finds the buffer, as the
     * container counts them until then and the bytes may be taken again at once.
     */
    void giveBack(long bytes, ByteBuffer allocated) {
        VbnMemory.discard(allocated);
        giveBack(bytes);
    }

    /** Memory for bytes that were taken; null, and none of it taken any more, when the JVM has none. */
    ByteBuffer allocate(int bytes) {
        try {
            return ByteBuffer.allocateDirect(bytes);
        } catch (OutOfMemoryError e) {
            synchronized (this) {
                used -= bytes;
                limit = used;
            }
            LOG.warn("Verbena: map outputs beyond {} bytes go to the heap or to disk: {}; raise -XX:MaxDirectMemorySize "
                + "(mapreduce.reduce.java.opts)", limit, e.getMessage());
            return null;
        }
    }

    synchronized long limit() {
        return limit;
    }

    synchronized long used() {
        return used;
    }

    @Override
    public synchronized String toString() {
        return (limit >> 20) + " MiB (" + why + ")";
    }
}
