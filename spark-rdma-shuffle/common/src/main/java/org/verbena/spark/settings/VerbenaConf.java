// SPDX-License-Identifier: Apache-2.0
// The settings spark.verbena.* and their checks.
package org.verbena.spark.settings;

import static org.verbena.core.plugin.PluginSetting.SPARK_ALLOW_CLEARTEXT_DATA;
import static org.verbena.core.plugin.PluginSetting.SPARK_CHUNK;
import static org.verbena.core.plugin.PluginSetting.SPARK_COMPRESS;
import static org.verbena.core.plugin.PluginSetting.SPARK_DRIVER_GC;
import static org.verbena.core.plugin.PluginSetting.SPARK_ENABLED;
import static org.verbena.core.plugin.PluginSetting.SPARK_FALLBACK;
import static org.verbena.core.plugin.PluginSetting.SPARK_MAX_PEERS;
import static org.verbena.core.plugin.PluginSetting.SPARK_MEMORY;
import static org.verbena.core.plugin.PluginSetting.SPARK_PORT;
import static org.verbena.core.plugin.PluginSetting.SPARK_TRANSPORT;

import java.util.Map;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.apache.spark.SparkConf;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.verbena.core.plugin.CoreSettings;
import org.verbena.core.plugin.PluginSetting.Plugin;
import org.verbena.core.plugin.SettingTable;
import scala.Tuple2;

/** Immutable; a wrong key or value is an {@link IllegalArgumentException} that says what would be right. */
public final class VerbenaConf {
    private static final Logger LOG = LoggerFactory.getLogger(VerbenaConf.class);
    /** What all settings begin with. */
    public static final String PREFIX = Plugin.SPARK.prefix();
    /** Set by the driver for the executors; not for users. */
    public static final String INTERNAL = PREFIX + "internal.";
    /** Whether map tasks report sizes as if they had compressed; set by the driver. */
    public static final String PLAN_COMPRESSED = INTERNAL + "planCompressed";
    /** Whether map outputs are compressed on their way to disk; set by the driver. */
    public static final String PACK_FILES = INTERNAL + "packFiles";
    /** Bytes: less memory for map outputs is not worth the overhead of slabs. */
    public static final long LEAST_MEMORY = 8L << 20;
    private static final Pattern PORTS = Pattern.compile("([0-9]{1,5})(?:-([0-9]{1,5}))?");
    private static final int HIGHEST_PORT = 65535;

    private final boolean enabled;
    private final long memory;
    private final String compress;
    private final boolean fallbackAllowed;
    private final boolean cleartextAllowed;
    private final boolean driverGc;
    private final int maxPeers;
    private final int chunk;
    private final int portRetries;
    private final Map<String, String> core;

    /** Reads and checks the settings of a Spark configuration. */
    public VerbenaConf(SparkConf conf) {
        SettingTable table = new SettingTable(Plugin.SPARK, key -> conf.get(key, null));
        for (Tuple2<String, String> entry : conf.getAll()) {
            if (!entry._1().startsWith(INTERNAL)) {
                table.check(entry._1(), entry._2());
            }
        }
        core = table.core();
        enabled = table.bool(SPARK_ENABLED);
        memory = table.size(SPARK_MEMORY);
        if (memory > 0 && memory < LEAST_MEMORY) {
            throw table.bad(SPARK_MEMORY, "at least 8m, or nothing for a share of the host's memory");
        }
        compress = table.choice(SPARK_COMPRESS);
        fallbackAllowed = table.choice(SPARK_FALLBACK).equals("allow");
        cleartextAllowed = table.bool(SPARK_ALLOW_CLEARTEXT_DATA);
        driverGc = table.bool(SPARK_DRIVER_GC);
        maxPeers = (int) table.number(SPARK_MAX_PEERS);
        chunk = (int) table.size(SPARK_CHUNK);
        String transport = table.text(SPARK_TRANSPORT);
        if (!transport.isEmpty()) {
            core.put("tl.enable", transport.contains("self") ? transport : "self," + transport);
        }
        portRetries = readPorts(table, conf.getInt("spark.port.maxRetries", 16));
    }

    /** Takes the first port over to the core; gives how many of the following ones may be tried. */
    private int readPorts(SettingTable table, int otherwise) {
        String ports = table.text(SPARK_PORT);
        if (ports.isEmpty()) {
            return otherwise;
        }
        Matcher parts = PORTS.matcher(ports);
        int first = parts.matches() ? Integer.parseInt(parts.group(1)) : 0;
        int last = first == 0 || parts.group(2) == null ? first : Integer.parseInt(parts.group(2));
        if (first < 1 || last < first || last > HIGHEST_PORT) {
            throw table.bad(SPARK_PORT, "a port like 7400, the first of several, or a range like 7400-7431, of 1 to 65535");
        }
        core.put("tl.tcp.port", Integer.toString(first));
        return parts.group(2) == null ? otherwise : last - first;
    }

    /**
     * Lets the core check what is meant for it.
     *
     * @throws IllegalArgumentException when it does not know a setting or cannot take its value
     */
    public void checkCore() {
        CoreSettings.check(core, PREFIX, "transport", LOG::debug);
    }

    /** A text of the core's, with settings named as users write them. */
    public static String inUsersWords(String text) {
        return CoreSettings.inUsersWords(text, PREFIX, "transport");
    }

    /** Whether the plugin shall do anything. */
    public boolean enabled() {
        return enabled;
    }

    /** Slab budget in bytes; 0 = choose by the host's memory. */
    public long memory() {
        return memory;
    }

    /** Whether shuffle compression may be turned off where bytes travel through memory. */
    public boolean compressAuto() {
        return compress.equals("auto");
    }

    /** Whether it is to be off whatever the network is like. */
    public boolean compressOff() {
        return compress.equals("off");
    }

    /** Whether blocks that fail on our path are fetched by Spark's own. */
    public boolean fallbackAllowed() {
        return fallbackAllowed;
    }

    /** Whether clear text may leave the host although Spark's network encryption is on. */
    public boolean cleartextAllowed() {
        return cleartextAllowed;
    }

    /** Whether executors that are short of memory may have the driver collect its heap. */
    public boolean driverGc() {
        return driverGc;
    }

    /** Most executors that this one keeps connected. */
    public int maxPeers() {
        return maxPeers;
    }

    /** Largest piece of a partition while a map task writes it, in bytes. */
    public int chunk() {
        return chunk;
    }

    /** How many ports after the first one may be tried when that is taken. */
    public int portRetries() {
        return portRetries;
    }

    /** Settings of the native core. */
    public Map<String, String> core() {
        return core;
    }
}
