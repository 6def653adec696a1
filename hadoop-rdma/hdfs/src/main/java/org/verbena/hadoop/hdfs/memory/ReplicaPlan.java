// SPDX-License-Identifier: Apache-2.0
package org.verbena.hadoop.hdfs.memory;

import java.util.List;
import org.apache.hadoop.fs.StorageType;

/** In which tiers a block's replicas are to lie. A pure function of their number. */
public final class ReplicaPlan {
    /** What a cluster without any memory tier, or without room in it, does instead; and without solid-state disks. */
    public static final List<String> INSTEAD = List.of("SSD", "DISK");

    private ReplicaPlan() {
    }

    /**
     * One replica in memory, one on a solid-state disk, all others on disks. A single replica is never in memory alone: a
     * host that loses its power would take it along.
     *
     * @param replicas how many there are in all
     */
    public static List<String> tiers(int replicas) {
        return replicas < 2 ? INSTEAD : List.of("NVDIMM", "SSD", "DISK");
    }

    /** The types by name, because a Hadoop before 3.4 does not have all of them. */
    public static StorageType[] types(List<String> names) {
        return names.stream().map(StorageType::valueOf).toArray(StorageType[]::new);
    }
}
