// SPDX-License-Identifier: Apache-2.0
// What the memory tiers of a cluster hold that is nowhere else.
package org.verbena.hadoop.hdfs;

import java.io.IOException;
import java.util.Arrays;
import org.apache.hadoop.fs.BlockLocation;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.LocatedFileStatus;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.fs.RemoteIterator;
import org.verbena.core.plugin.Finding.Level;
import org.verbena.core.plugin.HostReport;
import org.verbena.core.plugin.PluginSetting;
import org.verbena.hadoop.hdfs.settings.Mode;
import org.verbena.hadoop.hdfs.settings.MoveConf.Persist;

/** Counts files with a block of which all replicas lie in memory: they are lost with their hosts' power, and with the mode. */
final class MemoryAlone {
    private static final String TYPE = "NVDIMM";
    /** Files that are looked at. */
    private static final int MOST = 100_000;

    private MemoryAlone() {
    }

    static void look(FileSystem files, Mode mode, Persist persist, HostReport report) {
        int seen = 0;
        int alone = 0;
        Path example = null;
        try {
            RemoteIterator<LocatedFileStatus> all = files.listFiles(new Path("/"), true);
            for (; seen < MOST && all.hasNext(); seen++) {
                LocatedFileStatus file = all.next();
                if (Arrays.stream(file.getBlockLocations()).anyMatch(MemoryAlone::isAlone)) {
                    alone++;
                    example = example == null ? file.getPath() : example;
                }
            }
        } catch (IOException e) {
            report.add(Level.WARN, "memory tier: not all files could be looked at: " + ClusterCheck.cause(e));
        }
        String looked = " of " + seen + (seen == MOST ? " files (more were not looked at)" : " files");
        if (alone == 0) {
            report.add(Level.OK, "memory tier: no block" + looked + " lies in memory alone");
        } else if (persist != Persist.OFF) {
            report.add(Level.OK, "memory tier: " + alone + looked + " have all replicas of a block in memory, and copies on SSDs "
                + "or disks (" + PluginSetting.HDFS_MEMORY_PERSIST + ")");
        } else if (mode == Mode.HHH_M) {
            report.add(Level.OK, "memory tier: " + alone + looked + " have blocks in memory alone, as mode hhh-m keeps them: a "
                + "power cut of all their hosts loses these blocks, and so does the mode off");
        } else {
            report.add(Level.WARN, "memory tier: " + alone + looked + " have blocks in memory alone, such as "
                + example.toUri().getPath() + ": a power cut or mode off loses these blocks. Move them by 'hdfs "
                + "storagepolicies -setStoragePolicy -path PATH -policy HOT' and 'hdfs mover -p PATH' (docs/hdfs.md, \"Remove "
                + "it\")");
        }
    }

    private static boolean isAlone(BlockLocation block) {
        return block.getStorageTypes().length > 0
            && Arrays.stream(block.getStorageTypes()).allMatch(type -> type != null && type.name().equals(TYPE));
    }
}
