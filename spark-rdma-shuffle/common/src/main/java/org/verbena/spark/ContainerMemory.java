// SPDX-License-Identifier: Apache-2.0
// What the memory limit of a container, or the memory of a host, leaves for map outputs.
package org.verbena.spark;

import java.io.IOException;
import java.nio.file.Path;
import java.util.List;
import java.util.Set;
import java.util.function.ToIntFunction;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.apache.spark.SparkConf;
import org.verbena.core.plugin.ControlGroups;
import org.verbena.core.plugin.ControlGroups.Limit;
import org.verbena.spark.read.BufferBounds;

/**
 * The limit that kills an executor, and what else has to fit below it. On YARN and Kubernetes the limit is what Spark asks
 * for, even where no control group enforces it. Outside of containers it is the host's memory.
 *
 * @param what the limit is that of: "container" or "host"
 * @param own whether one executor has it for itself
 * @param limit bytes, Long.MAX_VALUE without a limit
 * @param heap bytes of the JVM's heap
 * @param others bytes of all other memory: the JVM's own, Netty's, Python's, our buffers
 * @param buffers bytes of these that are ours, for fetches and replies of all tasks that run at a time
 * @param shared all limits that other executors may be below as well: of its control groups, and of the host
 */
record ContainerMemory(String what, boolean own, long limit, long heap, long others, long buffers, List<Limit> shared) {
    /** No container, and nothing else that needs memory. */
    static final ContainerMemory NONE = new ContainerMemory("container", false, Long.MAX_VALUE, 0, 0, 0, List.of());
    /** The holder of the host's memory. */
    static final String HOST = "host";
    private static final long LEAST_OVERHEAD = 384L << 20;

    /** The container of this process, or the one that its cluster manager gives it. */
    static ContainerMemory here(SparkConf conf) throws IOException {
        long heap = Runtime.getRuntime().maxMemory();
        return of(conf, ControlGroups.memoryLimits(Path.of("/")), heap, AskedMemory.here(conf, heap), TaskSlots.buffers(conf));
    }

    /**
     * The container of an executor.
     *
     * @param groups limits of its control groups
     * @param heap bytes of its heap
     */
    static ContainerMemory of(SparkConf conf, List<Limit> groups, long heap) {
        return of(conf, groups, heap, AskedMemory.byHeap(conf, heap), TaskSlots.buffers(conf, heap));
    }

    private static ContainerMemory of(SparkConf conf, List<Limit> groups, long heap, AskedMemory asked, BufferBounds buffers) {
        boolean sized = isSized(conf);
        long group = groups.stream().mapToLong(Limit::bytes).min().orElse(Long.MAX_VALUE);
        return new ContainerMemory("container", sized, Math.min(group, sized ? asked.sum() : Long.MAX_VALUE), heap,
            Math.max(LEAST_OVERHEAD, heap / 10) + buffers.sum() + asked.offHeap() + asked.python(), buffers.sum(), groups);
    }

    /** The same on a host with so much memory, which is the limit where no container has a lower one. */
    ContainerMemory on(long host) {
        boolean contained = limit <= host;
        return new ContainerMemory(contained ? what : HOST, contained && own, contained ? limit : host, heap, others, buffers,
            Stream.concat(shared.stream(), Stream.of(new Limit(HOST, host))).toList());
    }

    /** Holders of all limits that other executors may be below as well. */
    Set<String> holders() {
        return shared.stream().map(Limit::holder).collect(Collectors.toSet());
    }

    /** Whether each executor has a container of its own, whose size Spark asks for. */
    static boolean isSized(SparkConf conf) {
        String master = conf.get("spark.master", "");
        return master.equals("yarn") || master.startsWith("k8s://");
    }

    /** The container of an executor that Spark will ask for, as the driver knows it. */
    static ContainerMemory ofExecutors(SparkConf conf) {
        return of(conf, List.of(), conf.getSizeAsBytes("spark.executor.memory", "1g"));
    }

    /** Most bytes of map outputs for each of so many executors here; less than 0 when the rest does not fit. */
    long room(int executors) {
        return limit == Long.MAX_VALUE ? Long.MAX_VALUE : limit / sharing(executors) - heap - others;
    }

    /**
     * The same beside executors that are there, whether they fit or not: for each limit, the part of those that are below it.
     *
     * @param executors how many executors are below the limit that this one has
     */
    long roomBeside(ToIntFunction<String> executors) {
        return own ? room(1) : least(executors) - heap - others;
    }

    /** The part of one executor in the limit that leaves least for it; Long.MAX_VALUE without a limit. */
    private long least(ToIntFunction<String> executors) {
        return shared.stream().mapToLong(one -> one.bytes() / Math.max(1, executors.applyAsInt(one.holder()))).min()
            .orElse(Long.MAX_VALUE);
    }

    /** A quarter of what is one executor's part beside executors that are there. */
    long quarterBeside(ToIntFunction<String> executors) {
        return (own ? limit : least(executors)) / 4;
    }

    /** Executors that the cores would allow, but not more than fit in the memory. */
    private long sharing(int executors) {
        return Math.max(1, Math.min(executors, limit / Math.max(1, heap + others)));
    }

    /** The sum, for the log. */
    String sum(int executors) {
        long sharing = sharing(executors);
        return what + " of " + (limit >> 20) + " MiB" + (sharing > 1 ? " for " + sharing + " executors" : "")
            + " less " + (heap >> 20) + " MiB of heap and " + (others >> 20) + " MiB of other memory, of which "
            + (buffers >> 20) + " MiB are buffers";
    }

    /** What the user can do about it. */
    String cure() {
        return what.equals(HOST) ? "; lower spark.executor.memory (spark.driver.memory in local mode), or start fewer executors "
            + "on the host" : "; raise spark.executor.memoryOverhead (YARN, Kubernetes) or the container's limit by the memory "
            + "that map outputs shall have";
    }
}
