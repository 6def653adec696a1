// SPDX-License-Identifier: Apache-2.0
package org.verbena.hadoop.hdfs.tier;

import java.util.Arrays;
import java.util.Comparator;
import java.util.List;
import java.util.function.Consumer;
import org.apache.hadoop.conf.Configurable;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.hdfs.net.DFSNetworkTopology;
import org.apache.hadoop.hdfs.protocol.DatanodeInfoWithStorage;
import org.apache.hadoop.net.Node;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.verbena.hadoop.hdfs.settings.Mode;
import org.verbena.hadoop.hdfs.settings.TierConf;

/**
 * The order in which readers are told the replicas of a block, by the NameNode's {@code dfs.net.topology.impl}: the nearest first,
 * as with Hadoop, and of equally near ones the one in the fastest tier. Hadoop's {@code dfs.namenode.read.considerStorageType} puts
 * NVDIMM last. In mode hhh-l the shared path comes after all others: it is as far from the DataNode that has it as from any host.
 */
public final class VerbenaTopology extends DFSNetworkTopology implements Configurable {
    private static final Logger LOG = LoggerFactory.getLogger(VerbenaTopology.class);
    private static final List<String> FASTEST_FIRST = List.of("RAM_DISK", "NVDIMM", "SSD", "DISK", "ARCHIVE", "PROVIDED");
    private static final Comparator<Node> SPEED = Comparator.comparingInt(VerbenaTopology::speed);
    private static final Comparator<Node> SHARED_LAST = Comparator.comparing(node -> tier(node).equals("ARCHIVE"));

    private Configuration conf;
    private boolean sharedLast;

    /** Hadoop makes it by reflection. */
    public VerbenaTopology() {
    }

    @Override
    public void setConf(Configuration conf) {
        this.conf = conf;
        try {
            sharedLast = TierConf.of(conf).mode() == Mode.HHH_L;
        } catch (IllegalArgumentException e) {
            LOG.warn("Verbena stands aside, replicas are told in Hadoop's order and by speed: {}", e.getMessage());
        }
    }

    @Override
    public Configuration getConf() {
        return conf;
    }

    private static String tier(Node node) {
        return node instanceof DatanodeInfoWithStorage replica && replica.getStorageType() != null
            ? replica.getStorageType().name() : "";
    }

    private static int speed(Node node) {
        int place = FASTEST_FIRST.indexOf(tier(node));
        return place < 0 ? FASTEST_FIRST.size() : place;
    }

    /** Sorts are stable: where tiers are equal, what Hadoop sorts equally near ones by (load, if that is set) counts. */
    private static <T extends Node> Consumer<List<T>> bySpeed(Consumer<List<T>> hadoops) {
        return near -> {
            if (hadoops != null) {
                hadoops.accept(near);
            }
            near.sort(SPEED);
        };
    }

    @Override
    public <T extends Node> void sortByDistance(Node reader, T[] nodes, int active, Consumer<List<T>> hadoops) {
        super.sortByDistance(reader, nodes, active, bySpeed(hadoops));
        sharedLast(nodes, active);
    }

    @Override
    public <T extends Node> void sortByDistanceUsingNetworkLocation(Node reader, T[] nodes, int active, Consumer<List<T>> hadoops) {
        super.sortByDistanceUsingNetworkLocation(reader, nodes, active, bySpeed(hadoops));
        sharedLast(nodes, active);
    }

    /** Behind the active ones are replicas that Hadoop wants to be read last, of nodes that leave. */
    private void sharedLast(Node[] nodes, int active) {
        if (sharedLast) {
            Arrays.sort(nodes, 0, active, SHARED_LAST);
        }
    }
}
