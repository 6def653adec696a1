// SPDX-License-Identifier: Apache-2.0
// How large a DataNode's memory tier is.
package org.verbena.hadoop.hdfs.memory;

import java.nio.file.Path;
import org.verbena.core.plugin.HostMemory;
import org.verbena.core.plugin.PluginSetting;

/**
 * The size and where it comes from.
 *
 * @param bytes most bytes of the tier; 0 = there is none
 * @param why what the number was derived from, for the log
 * @param warning what the user should know and do, or null
 */
public record TierSize(long bytes, String why, String warning) {
    private static final String SIZE = PluginSetting.HDFS_MEMORY_SIZE.key();
    private static final String DIR = PluginSetting.HDFS_MEMORY_DIR.key();
    private static final String BESIDE = "; lower the DataNode's heap (-Xmx), or give its container or host more memory";

    /**
     * Chooses the size: as set, else a quarter of the host's memory, but not more than 60 % of what the folder's file system
     * has for it; never more than host or container have beside heap and streams, because files in tmpfs are charged to them.
     *
     * @param wanted verbena.hdfs.memory.size in bytes, 0 = not set
     * @param memory bytes of the host or container
     * @param heap most bytes of the DataNode's heap
     * @param streams most bytes of its streams
     * @param folder the tier's folder, for messages
     * @param free bytes that are free there, those of replicas of an earlier run with them
     * @param block bytes of one block
     */
    static TierSize choose(long wanted, long memory, long heap, long streams, Path folder, long free, long block) {
        long left = Math.max(0, memory - heap - HostMemory.besideHeap(heap) - streams);
        TierSize chosen = ofFolder(wanted, memory, folder, free);
        String cure = "; " + folder + " has room for " + mib(free) + " MiB; " + larger(free + block) + ", or set " + DIR
            + " to a larger tmpfs";
        if (chosen.bytes > left) {
            String sum = mib(memory) + " MiB less a heap of " + mib(heap) + " MiB, " + mib(HostMemory.besideHeap(heap))
                + " MiB of the JVM and " + mib(streams) + " MiB of streams";
            chosen = new TierSize(left, sum, wanted == 0 ? null : SIZE + " is " + mib(wanted) + " MiB, but " + sum + " leave "
                + mib(left) + " MiB" + BESIDE);
            cure = BESIDE;
        }
        long least = MemoryLedger.OWN + MemoryLedger.pages(block);
        return chosen.bytes >= least ? chosen : new TierSize(0, chosen.why, "no memory tier: " + mib(chosen.bytes) + " MiB ("
            + chosen.why + ") cannot hold one block of " + mib(block) + " MiB (dfs.blocksize)" + cure);
    }

    /** By the setting and the folder alone. */
    private static TierSize ofFolder(long wanted, long memory, Path folder, long free) {
        if (wanted > free) {
            long cut = free - free / 16;
            return new TierSize(cut, "the free space of " + folder, folder + " has room for " + mib(free) + " MiB of the "
                + mib(wanted) + " MiB of " + SIZE + ", and the tier has " + mib(cut) + " MiB; " + larger(wanted) + ", or set "
                + SIZE + " lower");
        } else if (wanted > 0) {
            return new TierSize(wanted, SIZE, null);
        } else if (free / 10 * 6 < memory / 4) {
            return new TierSize(free / 10 * 6, "60 % of the free space of " + folder, null);
        }
        return new TierSize(memory / 4, "a quarter of " + mib(memory) + " MiB", null);
    }

    /** The cure for a tmpfs in which so many bytes have no room. */
    public static String larger(long bytes) {
        long size = (bytes >> 30) + 1;
        return "give the tmpfs " + size + " GiB beside its other files (mount -o remount,size=" + size
            + "g /dev/shm; docker run --shm-size=" + size + "g)";
    }

    private static long mib(long bytes) {
        return bytes >> 20;
    }
}
