// SPDX-License-Identifier: Apache-2.0
// The settings verbena.* of an HBase configuration that concern HBase's RPC, checked.
package org.verbena.hbase;

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
    static final String PREFIX = "verbena.";
    static final String ENABLED = "hbase.enabled";
    private static final String KEY_FILE = "hbase.key.file";
    private static final String AUTH = "hbase.auth";
    private static final String LOOPS = "hbase.loops";
    private static final String CONNECT_WAIT = Attempt.setting("hbase");
    private static final String INLINE = "hbase.inline.max.us";
    private static final List<String> NAMES = List.of(ENABLED, KEY_FILE, AUTH, LOOPS, CONNECT_WAIT, INLINE);
    /** Settings of hadoop-rdma, which checks them. */
    private static final List<String> OTHERS = List.of(PREFIX + "hdfs.", PREFIX + "shuffle.");
    private static final int LOOPS_MAX = 64;

    /**
     * Reads a configuration.
     *
     * @param conf HBase's
     * @return what it says
     * @throws IllegalArgumentException when a setting is wrong; the text names it and what would be right
     */
    public static HBaseConf of(Configuration conf) {
        SettingTable table = new SettingTable(PREFIX, NAMES, conf::getTrimmed);
        for (Map.Entry<String, String> entry : conf) {
            if (OTHERS.stream().noneMatch(entry.getKey()::startsWith)) {
                table.check(entry.getKey(), entry.getValue());
            }
        }
        ClusterKey key = new ClusterKey(PREFIX + "hbase.", table.text(KEY_FILE, ""),
            table.choice(AUTH, "key", "none").equals("none"));
        return new HBaseConf(table.bool(ENABLED, true), key, (int) table.number(LOOPS, 0, 0, LOOPS_MAX),
            Attempt.waitMillis(table, "hbase"), (int) table.number(INLINE, 200, 1, 100_000),
            Map.copyOf(table.core()));
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
