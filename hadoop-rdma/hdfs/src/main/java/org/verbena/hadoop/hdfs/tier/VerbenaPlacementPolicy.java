// SPDX-License-Identifier: Apache-2.0
package org.verbena.hadoop.hdfs.tier;

import java.util.List;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.StorageType;
import org.apache.hadoop.hdfs.protocol.BlockStoragePolicy;
import org.apache.hadoop.hdfs.protocol.HdfsConstants.StoragePolicy;
import org.apache.hadoop.hdfs.server.blockmanagement.PlacementBridge;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.verbena.core.plugin.PluginSetting;
import org.verbena.hadoop.hdfs.memory.ReplicaPlan;
import org.verbena.hadoop.hdfs.settings.Mode;
import org.verbena.hadoop.hdfs.settings.TierConf;

/**
 * The NameNode's part of the tiers, by {@code dfs.block.replicator.classname}: asks for the tiers of the mode ({@link ReplicaPlan})
 * where nobody chose a storage policy (HOT). Nodes and racks are chosen by Hadoop's default policy; tiers without room are replaced
 * as Hadoop does with the fallbacks of a storage policy.
 */
public final class VerbenaPlacementPolicy extends PlacementBridge {
    private static final Logger LOG = LoggerFactory.getLogger(VerbenaPlacementPolicy.class);
    private static final BlockStoragePolicy STOCK = new BlockStoragePolicy(StoragePolicy.HOT.value(), StoragePolicy.HOT.name(),
        new StorageType[] {StorageType.DISK}, new StorageType[0], new StorageType[] {StorageType.ARCHIVE});
    private static final Set<String> SAID = ConcurrentHashMap.newKeySet();

    private TierConf tiers;
    private BlockStoragePolicy single;
    private BlockStoragePolicy several;
    private volatile boolean saidWithoutPath;

    /** Hadoop makes it by reflection. */
    public VerbenaPlacementPolicy() {
    }

    @Override
    protected void configured(Configuration conf) {
        try {
            TierConf read = TierConf.of(conf);
            if (read.tiered()) {
                tiers = read;
                single = policy(1);
                several = policy(2);
                if (SAID.add(read.mode() + words())) { // fsck makes a policy for itself, each time
                    LOG.info("Verbena 0.1.0 {}: files of the storage policy HOT get {}. Other storage policies keep their "
                        + "meaning. Quotas by storage type count all of them as DISK", read.mode(), words());
                }
            }
        } catch (IllegalArgumentException e) {
            LOG.warn("Verbena stands aside, replicas are placed by Hadoop's default policy: {}", e.getMessage());
        }
    }

    private String words() {
        return switch (tiers.mode()) {
            case HHH_M -> "all replicas in memory (NVDIMM). A single replica " + (tiers.memoryAlone() ? "lies in memory, too"
                : "is refused");
            case HHH_L -> "one replica on the shared path (ARCHIVE), one in memory (NVDIMM), one on SSD, the others on DISK. A "
                + "single replica goes to the shared path";
            default -> "one replica in memory (NVDIMM), one on SSD, the others on DISK. A single replica goes to SSD";
        };
    }

    private BlockStoragePolicy policy(int replicas) {
        StorageType[] instead = ReplicaPlan.types(ReplicaPlan.INSTEAD);
        return new BlockStoragePolicy(StoragePolicy.HOT.value(), StoragePolicy.HOT.name(),
            ReplicaPlan.types(ReplicaPlan.tiers(tiers.mode(), replicas, tiers.memoryAlone())), instead, instead);
    }

    private boolean isOurs(BlockStoragePolicy chosen) {
        return tiers != null && chosen.getId() == StoragePolicy.HOT.value();
    }

    @Override
    protected BlockStoragePolicy planned(BlockStoragePolicy chosen, int replicas) {
        return !isOurs(chosen) ? chosen : replicas < 2 ? single : several;
    }

    /** Refuses here alone: an exception of the thread that makes lost replicas again would end the NameNode. */
    @Override
    protected void requested(String source, BlockStoragePolicy chosen, int replicas) {
        if (isOurs(chosen) && tiers.mode() == Mode.HHH_M && replicas < 2 && !tiers.memoryAlone()) {
            throw new IllegalArgumentException("Verbena hhh-m refuses to write " + source
                + " with one replica, in the memory of one host alone; write it with dfs.replication=2 or more, or set "
                + PluginSetting.HDFS_MEMORY_ALONE + "=true for the NameNode");
        }
    }

    @Override
    protected void placed(String source, BlockStoragePolicy plan, List<StorageType> types) {
        if (tiers == null || tiers.mode() != Mode.HHH_L || plan != single && plan != several) {
            return;
        }
        boolean without = !types.contains(StorageType.ARCHIVE);
        if (without && !saidWithoutPath) {
            LOG.warn("Verbena hhh-l: {} and others go without a replica on the shared path, to {}: no DataNode offers a volume "
                + "there with room; the DataNodes' logs say why (said once until one does)", source, types);
        }
        saidWithoutPath = without;
    }

    @Override
    protected List<StorageType> excess(int replicas, List<StorageType> types, List<StorageType> proposed) {
        boolean hot = sorted(STOCK.chooseExcess((short) replicas, types)).equals(sorted(proposed));
        return tiers != null && hot ? planned(STOCK, replicas).chooseExcess((short) replicas, types) : proposed;
    }

    private static List<StorageType> sorted(List<StorageType> types) {
        return types.stream().sorted().toList();
    }
}
