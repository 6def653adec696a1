// SPDX-License-Identifier: Apache-2.0
package org.verbena.hadoop.hdfs;

import static org.verbena.core.plugin.PluginSetting.HDFS_ENABLED;
import static org.verbena.core.plugin.PluginSetting.HDFS_READER;
import static org.verbena.core.plugin.PluginSetting.HDFS_WRITE_PARALLEL_MAX;

import java.io.IOException;
import java.net.URI;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.hdfs.ParallelFileSystem;
import org.verbena.core.plugin.SettingTable;
import org.verbena.hadoop.hdfs.settings.HdfsConf;

/**
 * HDFS that writes all replicas of a small new file at once, and reads small parts of blocks by one message each way, by
 * {@code fs.hdfs.impl} in a client's core-site.xml. Everything else is Hadoop's.
 */
public final class VerbenaFileSystem extends ParallelFileSystem {
    /** Hadoop makes it by reflection and then initializes it. */
    public VerbenaFileSystem() {
    }

    /** Largest file that a client of these settings writes in parallel, in bytes; 0: none. */
    static long limitOf(Configuration conf) {
        SettingTable table = HdfsConf.table(conf);
        return table.bool(HDFS_ENABLED) ? table.size(HDFS_WRITE_PARALLEL_MAX) : 0;
    }

    /** Whether a client of these settings reads small parts of blocks by a reader of its own. */
    static boolean readsSmallOf(Configuration conf) {
        SettingTable table = HdfsConf.table(conf);
        return table.bool(HDFS_ENABLED) && table.choice(HDFS_READER).equals("auto");
    }

    /** Whether files of these settings have anything that Hadoop's client lacks. */
    static boolean wantsOwnClient(Configuration conf) {
        return limitOf(conf) > 0 || readsSmallOf(conf);
    }

    @Override
    protected long limit(Configuration conf) {
        return limitOf(conf);
    }

    @Override
    protected boolean readsSmall(Configuration conf) {
        return readsSmallOf(conf);
    }

    @Override
    public void initialize(URI uri, Configuration conf) throws IOException {
        super.initialize(uri, conf);
        if (wantsOwnClient(conf) && !isParallel()) {
            HadoopsClient.tell();
        }
    }
}
