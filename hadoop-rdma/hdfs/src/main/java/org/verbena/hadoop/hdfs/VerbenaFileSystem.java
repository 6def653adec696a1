// SPDX-License-Identifier: Apache-2.0
package org.verbena.hadoop.hdfs;

import static org.verbena.core.plugin.PluginSetting.HDFS_ENABLED;
import static org.verbena.core.plugin.PluginSetting.HDFS_READER;
import static org.verbena.core.plugin.PluginSetting.HDFS_WRITE_PARALLEL_MAX;

import java.io.IOException;
import java.net.URI;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.hdfs.ParallelFileSystem;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.verbena.core.plugin.SettingTable;
import org.verbena.hadoop.hdfs.settings.HdfsConf;

/**
 * HDFS that writes all replicas of a small new file at once, and reads small parts of blocks by one message each way, by
 * {@code fs.hdfs.impl} in a client's core-site.xml. Everything else is Hadoop's.
 */
public final class VerbenaFileSystem extends ParallelFileSystem {
    private static final Logger LOG = LoggerFactory.getLogger(VerbenaFileSystem.class);

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
        if ((limit(conf) > 0 || readsSmall(conf)) && !isParallel()) {
            LOG.warn("Verbena: Hadoop's client reads and writes all files: Verbena's class loader has no classes of Hadoop 3.4 or "
                + "later; put Verbena's jar beside Hadoop's");
        }
    }
}
