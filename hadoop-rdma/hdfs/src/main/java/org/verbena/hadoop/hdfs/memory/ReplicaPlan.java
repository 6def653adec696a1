// SPDX-License-Identifier: Apache-2.0
package org.verbena.hadoop.hdfs.memory;

import java.util.List;
import org.apache.hadoop.fs.StorageType;
import org.verbena.hadoop.hdfs.settings.Mode;

/** In which tiers a block's replicas are to lie. A pure function of the mode and of their number. */
public final class ReplicaPlan {
    /** What a cluster without a tier, or without room in it, does instead. */
    public static final List<String> INSTEAD = List.of("SSD", "DISK");

    private ReplicaPlan() {
    }

    /**
     * The tiers of the first replicas; further ones get the last tier. A single replica is never in memory alone, where a host that
     * loses its power would take it along, unless that was allowed.
     *
     * @param mode the cluster's mode, not OFF
     * @param replicas how many there are in all
     * @param memoryAlone whether a single replica may lie in memory
     */
    public static List<String> tiers(Mode mode, int replicas, boolean memoryAlone) {
        return switch (mode) {
            case HHH_M -> replicas > 1 || memoryAlone ? List.of("NVDIMM") : INSTEAD;
            case HHH_L -> replicas > 1 ? List.of("ARCHIVE", "NVDIMM", "SSD", "DISK") : List.of("ARCHIVE");
            default -> replicas > 1 ? List.of("NVDIMM", "SSD", "DISK") : INSTEAD;
        };
    }

    /** The types by name, because a Hadoop before 3.4 does not have all of them. */
    public static StorageType[] types(List<String> names) {
        return names.stream().map(StorageType::valueOf).toArray(StorageType[]::new);
    }
}
