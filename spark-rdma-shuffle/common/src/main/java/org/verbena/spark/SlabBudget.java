// SPDX-License-Identifier: Apache-2.0
// How much memory one executor may use for map outputs.
package org.verbena.spark;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.function.ToIntFunction;
import org.apache.spark.SparkConf;
import org.verbena.core.plugin.HostMemory;
import org.verbena.spark.settings.VerbenaConf;

/**
 * The slab budget of an executor.
 *
 * @param bytes most bytes of slabs; 0 = none, map outputs are Spark's files
 * @param why where the number comes from, for the log
 * @param warning what the user should know and do, or null
 * @param shared whether it is a part of what executors share; false when each has what was set
 * @param within the container or host that has to hold heap and map outputs
 */
record SlabBudget(long bytes, String why, String warning, boolean shared, ContainerMemory within) {
    SlabBudget(long bytes, String why, String warning) {
        this(bytes, why, warning, false, ContainerMemory.NONE);
    }

    private SlabBudget(long bytes, String why, String warning, boolean shared) {
        this(bytes, why, warning, shared, ContainerMemory.NONE);
    }

    /**
     * The budget beside other executors of this application that have map outputs on this host.
     *
     * @param executors how many of them, this one included, are below the limit that this holder has
     */
    long sharedBy(ToIntFunction<String> executors) {
        long share = shared ? within.quarterBeside(executors) : bytes;
        return Math.min(bytes, Math.max(VerbenaConf.LEAST_MEMORY, Math.min(share, within.roomBeside(executors))));
    }

    private static final String CURE = "; give it more (mount -o remount,size=8g /dev/shm; docker run --shm-size=8g; "
        + "Kubernetes: an emptyDir with medium Memory at /dev/shm) or set spark.verbena.memory lower";

    /**
     * Chooses the budget: as set, else a quarter of the host's memory shared by its executors, but not more than 60 % of
     * what tmpfs has free; never more than the container, or the host, has left beside the heap.
     *
     * @param wanted spark.verbena.memory in bytes, 0 = not set
     * @param memory bytes of the host
     * @param container the executors' container
     * @param executors executors that share them
     * @param root tmpfs directory of the slabs, for messages
     * @param free bytes that are free there
     */
    static SlabBudget choose(long wanted, long memory, ContainerMemory container, int executors, Path root, long free) {
        ContainerMemory within = container.on(memory);
        SlabBudget budget = choose(wanted, within.limit(), executors, root, free);
        long left = within.room(executors);
        if (budget.bytes <= left) {
            return new SlabBudget(budget.bytes, budget.why, budget.warning, budget.shared, within);
        }
        String sum = within.sum(executors);
        if (left < VerbenaConf.LEAST_MEMORY) {
            return new SlabBudget(0, "no memory left of a " + sum, "map outputs go to Spark's files, because nothing is left "
                + "of a " + sum + within.cure());
        }
        String tight = wanted > 0
            ? "spark.verbena.memory is " + mib(wanted) + " MiB, but a " + sum + " leaves " + mib(left) + " MiB"
            : left < budget.bytes / 4 ? "a " + sum + " leaves " + mib(left) + " MiB" : null;
        return new SlabBudget(left, sum, tight == null ? null : tight + "; map outputs that do not fit go to disk"
            + within.cure(), budget.shared, within);
    }

    private static SlabBudget choose(long wanted, long memory, int executors, Path root, long free) {
        long share = memory / 4 / executors;
        long room = free / 10 * 6;
        if (free < VerbenaConf.LEAST_MEMORY) {
            return new SlabBudget(0, "no space in " + root, "map outputs go to Spark's files, because " + root + " has only "
                + mib(free) + " MiB free" + CURE);
        } else if (wanted > free) { // slabs are an eighth of the budget: by the setting alone none might fit; indexes need room
            return new SlabBudget(free - free / 16, "the free space of " + root,
                root + " has only " + mib(free) + " MiB free of the "
                + mib(wanted) + " MiB of spark.verbena.memory; map outputs that do not fit go to disk" + CURE);
        } else if (wanted > 0) {
            return new SlabBudget(wanted, "spark.verbena.memory", null);
        } else if (room < share) {
            return new SlabBudget(room, "60 % of the free space of " + root, room >= share / 4 ? null : root + " has only "
                + mib(free) + " MiB free; map outputs beyond " + mib(room) + " MiB go to disk" + CURE, true);
        }
        return new SlabBudget(Math.max(VerbenaConf.LEAST_MEMORY, share), "a quarter of " + mib(memory) + " MiB"
            + (executors > 1 ? " shared by " + executors + " executors" : ""), null, true);
    }

    /** The budget of an executor with this configuration on this host. */
    static SlabBudget here(SparkConf conf, VerbenaConf settings, Path root) throws IOException {
        return DriverSetup.needsFiles(conf) ? new SlabBudget(0, DriverSetup.FILES_ONLY, null)
            : here(settings.memory(), ContainerMemory.here(conf), ShuffleEngine.executorsPerHost(conf), root);
    }

    /** The budget that executors will have, as far as the driver can tell: on hosts like this one, with heaps as configured. */
    static SlabBudget ofExecutors(SparkConf conf, VerbenaConf settings, Path root) throws IOException {
        boolean inDriver = ShuffleCompression.isLocal(conf) || conf.get("spark.master", "").isEmpty();
        return inDriver || DriverSetup.needsFiles(conf) ? here(conf, settings, root)
            : here(settings.memory(), ContainerMemory.ofExecutors(conf), ShuffleEngine.executorsPerHost(conf), root);
    }

    /** Chooses the budget on this host. */
    static SlabBudget here(long wanted, ContainerMemory container, int executors, Path root) throws IOException {
        return choose(wanted, HostMemory.ofHost(), container, executors, root,
            Files.isDirectory(root) ? Files.getFileStore(root).getUsableSpace() : 0);
    }

    private static long mib(long bytes) {
        return bytes >> 20;
    }
}
