// SPDX-License-Identifier: Apache-2.0
package org.apache.hadoop.hdfs.server.datanode.fsdataset.impl;

import java.io.IOException;
import java.util.List;
import org.apache.hadoop.conf.Configurable;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.hdfs.DFSConfigKeys;
import org.apache.hadoop.hdfs.server.datanode.fsdataset.RoundRobinVolumeChoosingPolicy;
import org.apache.hadoop.hdfs.server.datanode.fsdataset.VolumeChoosingPolicy;
import org.apache.hadoop.util.DiskChecker.DiskOutOfSpaceException;
import org.apache.hadoop.util.ReflectionUtils;

/**
 * Fills the memory tier and volumes of the shared path to their last block, where Hadoop's policies keep a gibibyte free; else the
 * policy that was set.
 */
public final class TierChooser implements VolumeChoosingPolicy<FsVolumeImpl>, Configurable {
    private static final String POLICY = DFSConfigKeys.DFS_DATANODE_FSDATASET_VOLUME_CHOOSING_POLICY_KEY;
    private static final String WITHIN = "org.verbena.hadoop.within." + POLICY;

    private Configuration conf;
    private VolumeChoosingPolicy<FsVolumeImpl> within;

    /** Hadoop makes it by reflection. */
    public TierChooser() {
    }

    /** A copy of a DataNode's configuration that names this policy, which knows the one that was named before. */
    static Configuration over(Configuration conf) {
        Configuration changed = new Configuration(conf);
        changed.set(WITHIN, conf.get(POLICY, RoundRobinVolumeChoosingPolicy.class.getName()));
        changed.setClass(POLICY, TierChooser.class, VolumeChoosingPolicy.class);
        return changed;
    }

    @Override
    @SuppressWarnings("unchecked")
    public void setConf(Configuration conf) {
        this.conf = conf;
        within = ReflectionUtils.newInstance(conf.getClass(WITHIN, RoundRobinVolumeChoosingPolicy.class,
            VolumeChoosingPolicy.class), conf);
    }

    @Override
    public Configuration getConf() {
        return conf;
    }

    @Override
    public FsVolumeImpl chooseVolume(List<FsVolumeImpl> volumes, long replica, String storage) throws IOException {
        FsVolumeImpl ours = null;
        long space = -1;
        for (FsVolumeImpl volume : volumes) {
            long left = isOurs(volume) ? volume.getAvailable() : -1;
            if (left > space) {
                ours = volume;
                space = left;
            }
        }
        if (ours != null && space >= replica) {
            return ours;
        }
        List<FsVolumeImpl> others = volumes.stream().filter(volume -> !isOurs(volume)).toList();
        if (ours != null && others.isEmpty()) {
            throw new DiskOutOfSpaceException((ours instanceof MemoryVolume ? "the memory tier" : "the volume on the shared path")
                + " has " + space + " bytes left");
        }
        return within.chooseVolume(others, replica, storage);
    }

    private static boolean isOurs(FsVolumeImpl volume) {
        return volume instanceof MemoryVolume || volume instanceof SharedVolume;
    }
}
