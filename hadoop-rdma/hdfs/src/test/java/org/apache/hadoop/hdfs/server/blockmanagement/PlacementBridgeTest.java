// SPDX-License-Identifier: Apache-2.0
// Which of too many replicas the NameNode lets go when two DataNodes tell one volume of the shared path.
package org.apache.hadoop.hdfs.server.blockmanagement;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.util.List;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.StorageType;
import org.apache.hadoop.hdfs.HdfsConfiguration;
import org.apache.hadoop.hdfs.protocol.DatanodeID;
import org.apache.hadoop.hdfs.server.protocol.DatanodeStorage;
import org.apache.hadoop.net.NetworkTopology;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.verbena.hadoop.hdfs.tier.VerbenaPlacementPolicy;

class PlacementBridgeTest {
    private final VerbenaPlacementPolicy policy = new VerbenaPlacementPolicy();
    private final NetworkTopology network = new NetworkTopology();

    @BeforeEach
    void begin() {
        Configuration conf = new HdfsConfiguration();
        conf.set("verbena.hdfs.mode", "hhh-l");
        policy.initialize(conf, null, network, null);
    }

    private DatanodeDescriptor node(int number, long heard) {
        DatanodeDescriptor node = new DatanodeDescriptor(new DatanodeID("10.0.0." + number, "host" + number, "node" + number, 9866,
            9864, 9865, 9867), "/rack");
        node.setLastUpdateMonotonic(heard);
        network.add(node);
        return node;
    }

    private static DatanodeStorageInfo storage(DatanodeDescriptor node, String id, StorageType type) {
        return new DatanodeStorageInfo(node, new DatanodeStorage(id, DatanodeStorage.State.NORMAL, type));
    }

    private List<DatanodeStorageInfo> chosen(List<DatanodeStorageInfo> all, int expected) {
        return policy.chooseReplicasToDelete(all, all, expected, List.of(StorageType.ARCHIVE, StorageType.NVDIMM, StorageType.SSD),
            null, null);
    }

    @Test
    void the_one_replica_that_a_former_owner_and_the_new_one_tell_stays_whoever_was_heard_last() {
        for (long woken : new long[] {1, 99}) {
            DatanodeStorageInfo former = storage(node(1, woken), "DS-shared", StorageType.ARCHIVE);
            DatanodeStorageInfo owner = storage(node(2, 50), "DS-shared", StorageType.ARCHIVE);
            assertEquals(List.of(), chosen(List.of(former, owner), 1));
            DatanodeStorageInfo memory = storage(node(3, 50), "DS-memory", StorageType.NVDIMM);
            assertEquals(List.of(), chosen(List.of(former, owner, memory), 2));
            assertEquals(List.of(memory), chosen(List.of(former, memory, owner), 1));
        }
    }

    @Test
    void of_too_many_replicas_one_goes_that_is_told_once() {
        DatanodeStorageInfo former = storage(node(1, 1), "DS-shared", StorageType.ARCHIVE);
        DatanodeStorageInfo owner = storage(node(2, 50), "DS-shared", StorageType.ARCHIVE);
        DatanodeStorageInfo ssd = storage(node(3, 50), "DS-ssd", StorageType.SSD);
        DatanodeStorageInfo memory = storage(node(4, 50), "DS-memory", StorageType.NVDIMM);
        assertEquals(List.of(ssd), chosen(List.of(former, owner, ssd, memory), 2));
        assertEquals(2, chosen(List.of(former, owner, ssd, memory), 1).size());
    }
}
