// SPDX-License-Identifier: Apache-2.0
// The settings of the shared path.
package org.verbena.hadoop.hdfs.settings;

import org.verbena.core.plugin.PluginSetting;
import org.verbena.core.plugin.SettingTable;

/**
 * Immutable.
 *
 * @param dir the folder that all DataNodes mount; empty when it is not set
 * @param size bytes of one volume; 0 = derived
 * @param leaseMillis how long an owner may be silent
 * @param stripes Lustre's objects of one block
 */
public record SharedConf(String dir, long size, long leaseMillis, int stripes) {
    static SharedConf of(SettingTable table) {
        return new SharedConf(table.text(PluginSetting.HDFS_SHARED_DIR),
            table.isSet(PluginSetting.HDFS_SHARED_SIZE) ? table.size(PluginSetting.HDFS_SHARED_SIZE) : 0,
            table.number(PluginSetting.HDFS_SHARED_LEASE_MS), (int) table.number(PluginSetting.HDFS_SHARED_STRIPES));
    }
}
