// SPDX-License-Identifier: Apache-2.0
// Which tiers the replicas of a block get, as Hadoop's own storage policies choose by them.
package org.verbena.hadoop.hdfs.memory;

import static org.apache.hadoop.fs.StorageType.ARCHIVE;
import static org.apache.hadoop.fs.StorageType.DISK;
import static org.apache.hadoop.fs.StorageType.NVDIMM;
import static org.apache.hadoop.fs.StorageType.SSD;
import static org.junit.jupiter.api.Assertions.assertEquals;

import java.util.EnumSet;
import java.util.List;
import org.apache.hadoop.fs.StorageType;
import org.apache.hadoop.hdfs.protocol.BlockStoragePolicy;
import org.junit.jupiter.api.Test;
import org.verbena.hadoop.hdfs.settings.Mode;

class ReplicaPlanTest {
    private static final StorageType[] INSTEAD = ReplicaPlan.types(ReplicaPlan.INSTEAD);

    private static BlockStoragePolicy policy(Mode mode, int replicas, boolean alone) {
        StorageType[] types = ReplicaPlan.types(ReplicaPlan.tiers(mode, replicas, alone));
        return new BlockStoragePolicy((byte) 7, "HOT", types, INSTEAD, INSTEAD);
    }

    private static List<StorageType> tiers(Mode mode, int replicas) {
        return policy(mode, replicas, false).chooseStorageTypes((short) replicas);
    }

    private static List<StorageType> without(Mode mode, int replicas, StorageType lost) {
        return policy(mode, replicas, false).chooseStorageTypes((short) replicas, List.of(), EnumSet.of(lost), true);
    }

    @Test
    void hhh_has_one_replica_in_memory_unless_it_is_the_only_one() {
        assertEquals(List.of(SSD), tiers(Mode.HHH, 1));
        assertEquals(List.of(NVDIMM, SSD), tiers(Mode.HHH, 2));
        assertEquals(List.of(NVDIMM, SSD, DISK, DISK), tiers(Mode.HHH, 4));
    }

    @Test
    void hhh_m_has_all_in_memory_unless_there_is_one_and_nobody_allowed_that() {
        assertEquals(List.of(NVDIMM, NVDIMM, NVDIMM), tiers(Mode.HHH_M, 3));
        assertEquals(List.of(SSD), tiers(Mode.HHH_M, 1));
        assertEquals(List.of(NVDIMM), policy(Mode.HHH_M, 1, true).chooseStorageTypes((short) 1));
    }

    @Test
    void hhh_l_has_exactly_one_on_the_shared_path_and_the_others_as_hhh() {
        assertEquals(List.of(ARCHIVE), tiers(Mode.HHH_L, 1));
        assertEquals(List.of(ARCHIVE, NVDIMM), tiers(Mode.HHH_L, 2));
        assertEquals(List.of(ARCHIVE, NVDIMM, SSD), tiers(Mode.HHH_L, 3));
        assertEquals(List.of(ARCHIVE, NVDIMM, SSD, DISK, DISK), tiers(Mode.HHH_L, 5));
    }

    @Test
    void a_tier_that_is_not_there_is_replaced_by_ssd_or_disk_and_never_by_the_shared_path() {
        assertEquals(List.of(NVDIMM, SSD, SSD), sorted(without(Mode.HHH_L, 3, ARCHIVE)));
        assertEquals(List.of(ARCHIVE, SSD, SSD), sorted(without(Mode.HHH_L, 3, NVDIMM)));
        assertEquals(List.of(SSD), without(Mode.HHH_L, 1, ARCHIVE));
        assertEquals(List.of(SSD, SSD, SSD), without(Mode.HHH_M, 3, NVDIMM));
    }

    private static List<StorageType> sorted(List<StorageType> types) {
        return types.stream().sorted((one, other) -> one.name().compareTo(other.name())).toList();
    }

    @Test
    void of_too_many_replicas_the_slow_ones_that_nobody_planned_go_first() {
        assertEquals(List.of(SSD), policy(Mode.HHH_L, 2, false).chooseExcess((short) 2, List.of(ARCHIVE, NVDIMM, SSD)));
        assertEquals(List.of(ARCHIVE), policy(Mode.HHH_L, 3, false).chooseExcess((short) 3,
            List.of(ARCHIVE, ARCHIVE, NVDIMM, SSD)));
        assertEquals(List.of(NVDIMM), policy(Mode.HHH, 1, false).chooseExcess((short) 1, List.of(NVDIMM, SSD)));
    }
}
