// SPDX-License-Identifier: Apache-2.0
// The settings verbena.* of a Hadoop configuration that concern HDFS, checked.
package org.verbena.hadoop.hdfs.settings;

import static org.verbena.core.plugin.PluginSetting.HDFS_AUTH;
import static org.verbena.core.plugin.PluginSetting.HDFS_CONNECT_WAIT_MS;
import static org.verbena.core.plugin.PluginSetting.HDFS_ENABLED;
import static org.verbena.core.plugin.PluginSetting.HDFS_KEY_FILE;
import static org.verbena.core.plugin.PluginSetting.HDFS_OVER_TCP;
import static org.verbena.core.plugin.PluginSetting.HDFS_PORT_OFFSET;

import java.io.IOException;
import java.security.GeneralSecurityException;
import java.util.Map;
import org.apache.hadoop.conf.Configuration;
import org.verbena.core.VbnConfig;
import org.verbena.core.plugin.Attempt;
import org.verbena.core.plugin.ClusterKey;
import org.verbena.core.plugin.PluginSetting.Plugin;
import org.verbena.core.plugin.SettingTable;

/**
 * Immutable; equal ones share one engine.
 *
 * @param enabled whether the core is used at all
 * @param keyFile file with the cluster's key; empty when there is to be none
 * @param openToAll whether connections need no key
 * @param portOffset the greeting's port less the data port
 * @param connectWaitMillis how long connections wait for the core before they go by TCP ({@link Attempt})
 * @param tcpIsHadoops whether connections are Hadoop's own where the core has nothing but TCP
 * @param core settings of the core
 */
public record HdfsConf(boolean enabled, String keyFile, boolean openToAll, int portOffset, long connectWaitMillis,
        boolean tcpIsHadoops, Map<String, String> core) {
    /** What all settings begin with. */
    public static final String PREFIX = Plugin.HDFS.prefix();
    /** Which address the core's TCP listens on, without what settings of the core begin with. */
    public static final String INTERFACE = "tl.tcp.interface";

    /**
     * Reads a configuration.
     *
     * @throws IllegalArgumentException when a setting is wrong; the text names it and what would be right
     */
    public static HdfsConf of(Configuration conf) {
        SettingTable table = table(conf);
        return new HdfsConf(table.bool(HDFS_ENABLED), table.text(HDFS_KEY_FILE), table.choice(HDFS_AUTH).equals("none"),
            (int) table.number(HDFS_PORT_OFFSET), table.number(HDFS_CONNECT_WAIT_MS),
            table.choice(HDFS_OVER_TCP).equals("hadoop"), Map.copyOf(table.core()));
    }

    /**
     * The settings of HDFS in a configuration, their names checked.
     *
     * @throws IllegalArgumentException when there is one that is not known
     */
    public static SettingTable table(Configuration conf) {
        SettingTable table = new SettingTable(Plugin.HDFS, conf::getTrimmed);
        for (Map.Entry<String, String> entry : conf) {
            table.check(entry.getKey(), entry.getValue());
        }
        return table;
    }

    /** The cluster's key. */
    public ClusterKey key() {
        return new ClusterKey(PREFIX + "hdfs.", keyFile, openToAll);
    }

    /**
     * Makes the core's configuration.
     *
     * @throws IOException when there is no key, with the cure
     */
    public VbnConfig coreConfig() throws IOException, GeneralSecurityException {
        VbnConfig config = key().config("verbena hadoop 1");
        config.set("progress.spin", "0"); // who waits are many threads of many processes: they have better uses for a processor
        core.forEach(config::set);
        return config;
    }
}
