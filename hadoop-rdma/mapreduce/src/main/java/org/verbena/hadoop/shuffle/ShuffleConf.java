// SPDX-License-Identifier: Apache-2.0
// The settings verbena.* of a Hadoop configuration that concern the shuffle, checked.
package org.verbena.hadoop.shuffle;

import java.util.List;
import java.util.Map;
import org.apache.hadoop.conf.Configuration;
import org.verbena.core.plugin.Attempt;
import org.verbena.core.plugin.SettingTable;

/** Immutable. */
final class ShuffleConf {
    static final String PREFIX = "verbena.";
    static final String MEMORY = "shuffle.memory";
    static final String SOURCE = "shuffle.source";
    static final String JOBS = "shuffle.jobs";
    static final String SERVER_MEMORY = "shuffle.server.memory";
    private static final String PART = "shuffle";
    private static final List<String> NAMES = List.of(MEMORY, SOURCE, JOBS, SERVER_MEMORY, Attempt.setting(PART));
    /** Settings of hdfs and of hbase-rdma, which check them. */
    private static final List<String> OTHERS = List.of(PREFIX + "hdfs.", PREFIX + "hbase.");

    private final boolean core;
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
        SettingTable table = new SettingTable(PREFIX, NAMES, conf::getTrimmed);
        for (Map.Entry<String, String> entry : conf) {
            if (OTHERS.stream().noneMatch(entry.getKey()::startsWith)) {
                table.check(entry.getKey(), entry.getValue());
            }
        }
        core = table.choice(SOURCE, "auto", "http").equals("auto");
        memory = conf.getTrimmed(PREFIX + MEMORY) == null ? -1 : table.size(MEMORY, "0", 0, 1L << 40);
        jobs = (int) table.number(JOBS, 32, 1, 1024);
        serverMemory = table.size(SERVER_MEMORY, "16m", 4L << 20, 16L << 30);
        connectWaitMillis = Attempt.waitMillis(table, PART);
        coreSettings = Map.copyOf(table.core());
    }

    /** False when the user wants HTTP only. */
    boolean core() {
        return core;
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
