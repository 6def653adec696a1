// SPDX-License-Identifier: Apache-2.0
package org.verbena.hadoop.hdfs.tier;

import java.util.EnumMap;
import java.util.EnumSet;
import java.util.List;
import java.util.Set;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.StorageType;
import org.apache.hadoop.hdfs.AddBlockFlag;
import org.apache.hadoop.hdfs.protocol.BlockStoragePolicy;
import org.apache.hadoop.hdfs.protocol.HdfsConstants.StoragePolicy;
import org.apache.hadoop.hdfs.server.blockmanagement.DatanodeStorageInfo;
import org.apache.hadoop.hdfs.server.blockmanagement.PlacementBridge;
import org.apache.hadoop.net.Node;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.verbena.hadoop.hdfs.memory.ReplicaPlan;
import org.verbena.hadoop.hdfs.settings.TierConf;

/**
 * The NameNode's part of the tiers, by {@code dfs.block.replicator.classname}: asks for one replica in memory, one on a
 * solid-state disk and the others on disks, where nobody chose a storage policy (HOT). Nodes and racks are chosen by
 * Hadoop's default policy; tiers without room are replaced as Hadoop does with the fallbacks of a storage policy.
 */
public final class VerbenaPlacementPolicy extends PlacementBridge {
    private static final Logger LOG = LoggerFactory.getLogger(VerbenaPlacementPolicy.class);

    private BlockStoragePolicy single;
    private BlockStoragePolicy several;

    /** Hadoop makes it by reflection. */
    public VerbenaPlacementPolicy() {
    }

    @Override
    protected void configured(Configuration conf) {
        try {
            if (TierConf.of(conf).tiered()) {
                single = policy(1);
                several = policy(2);
                LOG.info("Verbena 0.1.0 hhh: files of the storage policy HOT get one replica in memory (NVDIMM), one on SSD, the "
                    + "others on DISK. A single replica goes to SSD. Other storage policies keep their meaning. Quotas by storage "
                    + "type count all of them as DISK");
            }
        } catch (IllegalArgumentException e) {
            LOG.warn("Verbena stands aside, replicas are placed by Hadoop's default policy: {}", e.getMessage());
        }
    }

    private static BlockStoragePolicy policy(int replicas) {
        StorageType[] instead = ReplicaPlan.types(ReplicaPlan.INSTEAD);
        return new BlockStoragePolicy(StoragePolicy.HOT.value(), StoragePolicy.HOT.name(),
            ReplicaPlan.types(ReplicaPlan.tiers(replicas)), instead, instead);
    }

    @Override
    protected BlockStoragePolicy planned(BlockStoragePolicy chosen, int replicas) {
        return several == null || chosen.getId() != StoragePolicy.HOT.value() ? chosen : replicas < 2 ? single : several;
    }

    @Override
    public DatanodeStorageInfo[] chooseTarget(String source, int more, Node writer, List<DatanodeStorageInfo> chosen,
            boolean returnChosen, Set<Node> excluded, long blockSize, BlockStoragePolicy policy, EnumSet<AddBlockFlag> flags) {
        return super.chooseTarget(source, more, writer, chosen, returnChosen, excluded, blockSize,
            planned(policy, chosen.size() + more), flags);
    }

    @Override
    public DatanodeStorageInfo[] chooseTarget(String source, int more, Node writer, List<DatanodeStorageInfo> chosen,
            boolean returnChosen, Set<Node> excluded, long blockSize, BlockStoragePolicy policy, EnumSet<AddBlockFlag> flags,
            EnumMap<StorageType, Integer> types) {
        return super.chooseTarget(source, more, writer, chosen, returnChosen, excluded, blockSize,
            planned(policy, chosen.size() + more), flags, types);
    }
}
