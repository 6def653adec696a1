// SPDX-License-Identifier: Apache-2.0
// The settings verbena.* of a Hadoop configuration that concern HDFS, checked.
package org.verbena.hadoop.hdfs;

import java.io.IOException;
import java.security.GeneralSecurityException;
import java.util.List;
import java.util.Map;
import org.apache.hadoop.conf.Configuration;
import org.verbena.core.VbnConfig;
import org.verbena.core.plugin.Attempt;
import org.verbena.core.plugin.ClusterKey;
import org.verbena.core.plugin.SettingTable;

/**
 * Immutable; equal ones share one engine.
 *
 * @param enabled whether the core is used at all
 * @param keyFile file with the cluster's key; empty when there is to be none
 * @param openToAll whether connections need no key
 * @param portOffset the greeting's port less the data port
 * @param connectWaitMillis how long connections wait for the core before they go by TCP ({@link Attempt})
 * @param core settings of the core
 */
public record HdfsConf(boolean enabled, String keyFile, boolean openToAll, int portOffset, long connectWaitMillis,
        Map<String, String> core) {
    /** What all settings begin with. */
    public static final String PREFIX = "verbena.";
    static final String ENABLED = "hdfs.enabled";
    static final String KEY_FILE = "hdfs.key.file";
    static final String AUTH = "hdfs.auth";
    static final String PORT_OFFSET = "hdfs.port.offset";
    static final String CONNECT_WAIT = Attempt.setting("hdfs");
    /** off, or hhh: one replica in memory. */
    public static final String MODE = "hdfs.mode";
    /** The memory tier's size. */
    public static final String MEMORY_SIZE = "hdfs.memory.size";
    /** The memory tier's place. */
    public static final String MEMORY_DIR = "hdfs.memory.dir";
    /** Which address the core's TCP listens on, without what settings of the core begin with. */
    static final String INTERFACE = "tl.tcp.interface";
    private static final List<String> NAMES = List.of(ENABLED, KEY_FILE, AUTH, PORT_OFFSET, CONNECT_WAIT,
        MODE, MEMORY_SIZE, MEMORY_DIR);
    /** Settings of other parts, which check them. */
    private static final List<String> OTHERS = List.of(PREFIX + "shuffle.", PREFIX + "hbase.");

    /**
     * Reads a configuration.
     *
     * @throws IllegalArgumentException when a setting is wrong; the text names it and what would be right
     */
    static HdfsConf of(Configuration conf) {
        SettingTable table = table(conf);
        return new HdfsConf(table.bool(ENABLED, true), table.text(KEY_FILE, ""),
            table.choice(AUTH, "key", "none").equals("none"), (int) table.number(PORT_OFFSET, 20, 1, 60_000),
            Attempt.waitMillis(table, "hdfs"), Map.copyOf(table.core()));
    }

    /**
     * The settings of HDFS in a configuration, their names checked.
     *
     * @throws IllegalArgumentException when there is one that is not known
     */
    public static SettingTable table(Configuration conf) {
        SettingTable table = new SettingTable(PREFIX, NAMES, conf::getTrimmed);
        for (Map.Entry<String, String> entry : conf) {
            if (OTHERS.stream().noneMatch(entry.getKey()::startsWith)) {
                table.check(entry.getKey(), entry.getValue());
            }
        }
        return table;
    }

    /** The cluster's key. */
    ClusterKey key() {
        return new ClusterKey(PREFIX + "hdfs.", keyFile, openToAll);
    }

    /**
     * Makes the core's configuration.
     *
     * @throws IOException when there is no key, with the cure
     */
    VbnConfig coreConfig() throws IOException, GeneralSecurityException {
        VbnConfig config = key().config("verbena hadoop 1");
        config.set("progress.spin", "0"); // who waits are many threads of many processes: they have better uses for a processor
        core.forEach(config::set);
        return config;
    }
}
