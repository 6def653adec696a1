// SPDX-License-Identifier: Apache-2.0
// The settings verbena.* of a Hadoop configuration that concern the shuffle, checked.
package org.verbena.hadoop.shuffle;

import static org.verbena.core.plugin.PluginSetting.SHUFFLE_CONNECT_WAIT_MS;
import static org.verbena.core.plugin.PluginSetting.SHUFFLE_JOBS;
import static org.verbena.core.plugin.PluginSetting.SHUFFLE_MEMORY;
import static org.verbena.core.plugin.PluginSetting.SHUFFLE_SERVER_MEMORY;
import static org.verbena.core.plugin.PluginSetting.SHUFFLE_SOURCE;

import java.util.Map;
import org.apache.hadoop.conf.Configuration;
import org.verbena.core.plugin.Attempt;
import org.verbena.core.plugin.PluginSetting.Plugin;
import org.verbena.core.plugin.SettingTable;

/** Immutable. */
final class ShuffleConf {
    private final String source;
    private final long memory;
    private final int jobs;
    private final long serverMemory;
    private final long connectWaitMillis;
    private final Map<String, String> coreSettings;

    /**
     * Reads a configuration.
     *
     * @throws IllegalArgumentException when a setting is wrong; its text names the setting and what would be right
     */
    ShuffleConf(Configuration conf) {
        SettingTable table = new SettingTable(Plugin.SHUFFLE, conf::getTrimmed);
        for (Map.Entry<String, String> entry : conf) {
            table.check(entry.getKey(), entry.getValue());
        }
        source = table.choice(SHUFFLE_SOURCE);
        memory = table.isSet(SHUFFLE_MEMORY) ? table.size(SHUFFLE_MEMORY) : -1;
        jobs = (int) table.number(SHUFFLE_JOBS);
        serverMemory = table.size(SHUFFLE_SERVER_MEMORY);
        connectWaitMillis = table.number(SHUFFLE_CONNECT_WAIT_MS);
        coreSettings = Map.copyOf(table.core());
    }

    /** False when the user wants HTTP only. */
    boolean core() {
        return !source.equals("http");
    }

    /** From where segments come that both the core and the shared file system can bring. */
    SourceChoice choice() {
        return new SourceChoice(switch (source) {
            case "core" -> SourceChoice.Source.CORE;
            case "shared" -> SourceChoice.Source.SHARED;
            default -> null;
        });
    }

    /** Bytes of a reducer's memory outside its heap, -1 when they are to be derived. */
    long memory() {
        return memory;
    }

    /** Most jobs that a NodeManager serves by the core at a time. */
    int jobs() {
        return jobs;
    }

    /** Bytes of a NodeManager's memory for what is being sent, per job. */
    long serverMemory() {
        return serverMemory;
    }

    /** How long fetches from a node wait for the connection before they go by HTTP ({@link Attempt}), in milliseconds. */
    long connectWaitMillis() {
        return connectWaitMillis;
    }

    /** Settings of the native core. */
    Map<String, String> coreSettings() {
        return coreSettings;
    }
}
