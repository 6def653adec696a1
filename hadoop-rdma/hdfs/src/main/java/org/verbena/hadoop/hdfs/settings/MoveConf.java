// SPDX-License-Identifier: Apache-2.0
// The settings of moves between tiers.
package org.verbena.hadoop.hdfs.settings;

import java.util.Locale;
import org.apache.hadoop.conf.Configuration;
import org.verbena.core.plugin.PluginSetting;
import org.verbena.core.plugin.SettingTable;

/**
 * Immutable.
 *
 * @param persist when finished blocks in memory get a copy in a slower tier
 * @param high per cent of the memory tier above which blocks leave it
 * @param low per cent down to which they leave
 * @param promote reads after which a block comes into memory; 0 = never
 */
public record MoveConf(Persist persist, int high, int low, int promote) {
    /** All of something. */
    public static final int WHOLE = 100;

    /** When finished blocks in memory get a copy in a slower tier. */
    public enum Persist {
        /** When they leave memory. */
        OFF,
        /** Soon after they are written. */
        ASYNC,
        /** Before their writer hears that they are finished. */
        SYNC
    }

    /**
     * Reads a configuration.
     *
     * @throws IllegalArgumentException when a setting of {@code verbena.} is wrong
     */
    public static MoveConf of(Configuration conf) {
        SettingTable table = HdfsConf.table(conf);
        int high = (int) table.number(PluginSetting.HDFS_MEMORY_HIGH);
        int low = (int) table.number(PluginSetting.HDFS_MEMORY_LOW);
        if (low > high) {
            if (table.isSet(PluginSetting.HDFS_MEMORY_LOW)) {
                throw table.bad(PluginSetting.HDFS_MEMORY_LOW, "at most " + PluginSetting.HDFS_MEMORY_HIGH + ", which is " + high);
            }
            low = high;
        }
        return new MoveConf(Persist.valueOf(table.choice(PluginSetting.HDFS_MEMORY_PERSIST).toUpperCase(Locale.ROOT)), high, low,
            (int) table.number(PluginSetting.HDFS_MEMORY_PROMOTE));
    }
}
