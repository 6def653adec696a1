// SPDX-License-Identifier: Apache-2.0
package org.verbena.hadoop.hdfs.tier;

import java.io.IOException;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.StorageType;
import org.apache.hadoop.hdfs.protocol.ExtendedBlock;
import org.apache.hadoop.hdfs.server.datanode.DataNode;
import org.apache.hadoop.hdfs.server.datanode.DataStorage;
import org.apache.hadoop.hdfs.server.datanode.fsdataset.FsDatasetSpi;
import org.apache.hadoop.hdfs.server.datanode.fsdataset.impl.FsDatasetFactory;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.verbena.hadoop.hdfs.memory.MemoryTier;
import org.verbena.hadoop.hdfs.settings.Mode;
import org.verbena.hadoop.hdfs.settings.MoveConf;
import org.verbena.hadoop.hdfs.settings.TierConf;
import org.verbena.hadoop.hdfs.shared.SharedTier;

/** The DataNode's part of the tiers, by {@code dfs.datanode.fsdataset.factory}. Without the mode it gives Hadoop's own. */
public final class VerbenaDatasetFactory extends FsDatasetSpi.Factory<FsDatasetSpi<?>> {
    private static final Logger LOG = LoggerFactory.getLogger(VerbenaDatasetFactory.class);

    /** Hadoop makes it by reflection. */
    public VerbenaDatasetFactory() {
    }

    @Override
    public FsDatasetSpi<?> newInstance(DataNode node, DataStorage storage, Configuration conf) throws IOException {
        TierConf settings = settings(conf);
        return settings != null && settings.tiered() ? Tiered.make(node, storage, conf, settings)
            : new FsDatasetFactory().newInstance(node, storage, conf);
    }

    /** Null when they are wrong, or this Hadoop cannot have tiers. */
    private static TierConf settings(Configuration conf) {
        try {
            TierConf settings = TierConf.of(conf);
            if (settings.tiered()) {
                MoveConf.of(conf);
            }
            String missing = settings.tiered() ? missing() : null;
            if (missing == null) {
                return settings;
            }
            LOG.warn("Verbena hhh stands aside, replicas are kept as Hadoop does: {}", missing);
        } catch (IllegalArgumentException e) {
            LOG.warn("Verbena hhh stands aside, replicas are kept as Hadoop does: {}", e.getMessage());
        }
        return null;
    }

    /** What this Hadoop does not have; null when all is there. */
    static String missing() {
        try {
            StorageType.valueOf(MemoryTier.TYPE);
            FsDatasetSpi.class.getMethod("createRbw", StorageType.class, String.class, ExtendedBlock.class, boolean.class,
                long.class);
            return null;
        } catch (IllegalArgumentException e) {
            return "this Hadoop has no storage type " + MemoryTier.TYPE + "; use 3.4 or later";
        } catch (NoSuchMethodException e) {
            return "this Hadoop makes replicas in another way (" + e.getMessage() + "); use 3.4.2 or 3.5.0";
        }
    }

    /** Apart, so that nothing of it is loaded without the mode. */
    private static final class Tiered {
        static FsDatasetSpi<?> make(DataNode node, DataStorage storage, Configuration conf, TierConf settings)
                throws IOException {
            return new org.apache.hadoop.hdfs.server.datanode.fsdataset.impl.TieredDataset(node, storage, conf,
                new MemoryTier(conf, settings), settings.mode() == Mode.HHH_L ? new SharedTier(settings.shared()) : null);
        }
    }
}
