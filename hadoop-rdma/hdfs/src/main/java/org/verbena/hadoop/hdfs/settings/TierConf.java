// SPDX-License-Identifier: Apache-2.0
// The settings of the tiers.
package org.verbena.hadoop.hdfs.settings;

import org.apache.hadoop.conf.Configuration;
import org.verbena.core.plugin.PluginSetting;
import org.verbena.core.plugin.SettingTable;

/**
 * Immutable.
 *
 * @param mode where replicas are kept
 * @param memorySize bytes of the memory tier; 0 = derived
 * @param memoryDir where the memory tiers of this host's DataNodes are
 * @param memoryAlone whether a single replica may lie in memory
 * @param refusesSync whether {@code hsync} of a block in memory fails
 * @param shared the shared path of {@link Mode#HHH_L}
 */
public record TierConf(Mode mode, long memorySize, String memoryDir, boolean memoryAlone, boolean refusesSync,
        SharedConf shared) {
    private static final String SHARED_MEMORY = "/dev/shm";
    /** HiBD's name of a mode that is no mode of HDFS here. */
    private static final String WITH_BUFFER = "hhh-l-bb";

    /**
     * Reads a configuration.
     *
     * @throws IllegalArgumentException when a setting of {@code verbena.} is wrong
     */
    public static TierConf of(Configuration conf) {
        SettingTable table = HdfsConf.table(conf);
        if (WITH_BUFFER.equals(table.text(PluginSetting.HDFS_MODE))) {
            throw table.bad(PluginSetting.HDFS_MODE, "hhh-l for HDFS without a burst buffer; the burst buffer stands before the "
                + "file system lustre:, which takes the place of HDFS: set fs.defaultFS to lustre:///, and the properties of "
                + "docs/lustre.md and docs/burst-buffer.md");
        }
        Mode mode = Mode.of(table.choice(PluginSetting.HDFS_MODE));
        return new TierConf(mode,
            table.isSet(PluginSetting.HDFS_MEMORY_SIZE) ? table.size(PluginSetting.HDFS_MEMORY_SIZE) : 0,
            table.isSet(PluginSetting.HDFS_MEMORY_DIR) ? table.text(PluginSetting.HDFS_MEMORY_DIR)
                : SHARED_MEMORY + "/verbena-hdfs-" + System.getProperty("user.name"),
            table.bool(PluginSetting.HDFS_MEMORY_ALONE),
            table.choice(PluginSetting.HDFS_MEMORY_HSYNC).equals("refuse") && mode == Mode.HHH_M, SharedConf.of(table));
    }

    /** Whether replicas are kept in tiers. */
    public boolean tiered() {
        return mode != Mode.OFF;
    }
}
