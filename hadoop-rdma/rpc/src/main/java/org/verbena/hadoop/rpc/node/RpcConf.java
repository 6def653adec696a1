// SPDX-License-Identifier: Apache-2.0
// The settings verbena.* of a Hadoop configuration that concern RPC, checked.
package org.verbena.hadoop.rpc.node;

import static org.verbena.core.plugin.PluginSetting.RPC_AUTH;
import static org.verbena.core.plugin.PluginSetting.RPC_ENABLED;
import static org.verbena.core.plugin.PluginSetting.RPC_FIRST_CALLS;
import static org.verbena.core.plugin.PluginSetting.RPC_KEY_FILE;

import java.io.IOException;
import java.security.GeneralSecurityException;
import java.util.Map;
import org.apache.hadoop.conf.Configuration;
import org.verbena.core.VbnConfig;
import org.verbena.core.plugin.ClusterKey;
import org.verbena.core.plugin.PluginSetting.Plugin;
import org.verbena.core.plugin.SettingTable;

/**
 * Immutable; equal ones share one context of the core.
 *
 * @param enabled whether the core is used at all
 * @param key the cluster's key
 * @param firstCalls calls to a server that go by TCP before the core is connected
 * @param core settings of the core
 */
public record RpcConf(boolean enabled, ClusterKey key, int firstCalls, Map<String, String> core) {
    private static final String KEY_PREFIX = Plugin.RPC.prefix() + "rpc.";

    /**
     * Reads a configuration.
     *
     * @throws IllegalArgumentException when a setting is wrong; the text names it and what would be right
     */
    public static RpcConf of(Configuration conf) {
        SettingTable table = new SettingTable(Plugin.RPC, conf::getTrimmed);
        for (Map.Entry<String, String> entry : conf) {
            table.check(entry.getKey(), entry.getValue());
        }
        ClusterKey key = new ClusterKey(KEY_PREFIX, table.text(RPC_KEY_FILE), table.choice(RPC_AUTH).equals("none"));
        return new RpcConf(table.bool(RPC_ENABLED), key, (int) table.number(RPC_FIRST_CALLS), Map.copyOf(table.core()));
    }

    /**
     * Makes the core's configuration.
     *
     * @throws IOException when there is no key, with the cure
     */
    public VbnConfig coreConfig() throws IOException, GeneralSecurityException {
        VbnConfig config = key.config("verbena rpc 1");
        config.set("progress.spin", "0"); // callers and handlers have better uses for a processor
        core.forEach(config::set);
        return config;
    }
}
