// SPDX-License-Identifier: Apache-2.0
// Which replica a reader is told first.
package org.verbena.hadoop.hdfs.tier;

import static org.apache.hadoop.fs.StorageType.ARCHIVE;
import static org.apache.hadoop.fs.StorageType.DISK;
import static org.apache.hadoop.fs.StorageType.NVDIMM;
import static org.apache.hadoop.fs.StorageType.SSD;
import static org.junit.jupiter.api.Assertions.assertEquals;

import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.StorageType;
import org.apache.hadoop.hdfs.net.DFSNetworkTopology;
import org.apache.hadoop.hdfs.protocol.DatanodeID;
import org.apache.hadoop.hdfs.protocol.DatanodeInfo.DatanodeInfoBuilder;
import org.apache.hadoop.hdfs.protocol.DatanodeInfoWithStorage;
import org.junit.jupiter.api.Test;

class VerbenaTopologyTest {
    private static final int SHUFFLES = 30;
    private static final int PORT = 9866;

    private static DFSNetworkTopology topology(String mode) {
        Configuration conf = new Configuration(false);
        conf.set("verbena.hdfs.mode", mode);
        conf.set("dfs.net.topology.impl", VerbenaTopology.class.getName());
        return DFSNetworkTopology.getInstance(conf);
    }

    /** A DataNode of its own on a rack, with a replica. */
    private static DatanodeInfoWithStorage replica(int host, String rack, StorageType type) {
        DatanodeID id = new DatanodeID("10.0.0." + host, "host" + host, "uuid" + host, PORT, PORT + 1, PORT + 2, PORT + 3);
        return new DatanodeInfoWithStorage(new DatanodeInfoBuilder().setNodeID(id).setNetworkLocation(rack).build(), "DS-" + host,
            type);
    }

    private static void assertOrder(String mode, DatanodeInfoWithStorage reader, DatanodeInfoWithStorage... wanted) {
        List<DatanodeInfoWithStorage> mixed = Arrays.asList(wanted.clone());
        for (int i = 0; i < SHUFFLES; i++) {
            Collections.shuffle(mixed);
            DatanodeInfoWithStorage[] told = mixed.toArray(DatanodeInfoWithStorage[]::new);
            topology(mode).sortByDistanceUsingNetworkLocation(reader, told, told.length, null);
            assertEquals(List.of(wanted), List.of(told));
            Collections.shuffle(mixed);
            told = mixed.toArray(DatanodeInfoWithStorage[]::new);
            topology(mode).sortByDistanceUsingNetworkLocation(reader, told, told.length, all -> Collections.shuffle(all));
            assertEquals(List.of(wanted), List.of(told), "with another order of Hadoop's below it");
        }
    }

    @Test
    void of_equally_near_replicas_the_one_in_the_fastest_tier_is_first() {
        assertOrder("hhh", replica(9, "/a", DISK), replica(1, "/a", NVDIMM), replica(2, "/a", SSD), replica(3, "/a", DISK),
            replica(4, "/a", ARCHIVE));
    }

    @Test
    void a_nearer_replica_comes_before_a_faster_one() {
        assertOrder("hhh", replica(1, "/a", DISK), replica(1, "/a", DISK), replica(2, "/a", SSD), replica(3, "/b", NVDIMM));
    }

    @Test
    void the_shared_path_comes_last_because_it_is_near_nobody() {
        assertOrder("hhh-l", replica(1, "/a", ARCHIVE), replica(2, "/a", SSD), replica(3, "/b", NVDIMM), replica(1, "/a", ARCHIVE));
        assertOrder("hhh", replica(1, "/a", ARCHIVE), replica(1, "/a", ARCHIVE), replica(2, "/a", SSD), replica(3, "/b", NVDIMM));
    }
}
