// SPDX-License-Identifier: Apache-2.0
// The settings verbena.* of an HBase configuration that concern HBase's RPC, checked.
package org.verbena.hbase.node;

import static org.verbena.core.plugin.PluginSetting.HBASE_AUTH;
import static org.verbena.core.plugin.PluginSetting.HBASE_CONNECT_WAIT_MS;
import static org.verbena.core.plugin.PluginSetting.HBASE_ENABLED;
import static org.verbena.core.plugin.PluginSetting.HBASE_INLINE_MAX_US;
import static org.verbena.core.plugin.PluginSetting.HBASE_KEY_FILE;
import static org.verbena.core.plugin.PluginSetting.HBASE_LOOPS;

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
 * Immutable; equal ones share the event loops of a JVM.
 *
 * @param enabled whether the core is used at all
 * @param key the cluster's key
 * @param loops event loops of this JVM; 0: half of the processors, at most four
 * @param connectWaitMillis how long calls wait for the connection to a server before they go by TCP ({@link Attempt})
 * @param inlineMicros how long reads of a region may take, on average, to run on event loops
 * @param core settings of the core
 */
public record HBaseConf(boolean enabled, ClusterKey key, int loops, long connectWaitMillis, int inlineMicros,
        Map<String, String> core) {
    private static final String KEY_PREFIX = Plugin.HBASE.prefix() + "hbase.";

    /**
     * Reads a configuration.
     *
     * @param conf HBase's
     * @return what it says
     * @throws IllegalArgumentException when a setting is wrong; the text names it and what would be right
     */
    public static HBaseConf of(Configuration conf) {
        SettingTable table = new SettingTable(Plugin.HBASE, conf::getTrimmed);
        for (Map.Entry<String, String> entry : conf) {
            table.check(entry.getKey(), entry.getValue());
        }
        ClusterKey key = new ClusterKey(KEY_PREFIX, table.text(HBASE_KEY_FILE), table.choice(HBASE_AUTH).equals("none"));
        return new HBaseConf(table.bool(HBASE_ENABLED), key, (int) table.number(HBASE_LOOPS),
            table.number(HBASE_CONNECT_WAIT_MS), (int) table.number(HBASE_INLINE_MAX_US), Map.copyOf(table.core()));
    }

    /**
     * Makes the core's configuration.
     *
     * @throws IOException when there is no key, with the cure
     */
    VbnConfig coreConfig() throws IOException, GeneralSecurityException {
        VbnConfig config = key.config("verbena hbase 1");
        config.set("progress.spin", "0"); // loops share their processors with callers and handlers, who have what they wait for
        core.forEach(config::set);
        return config;
    }
}
