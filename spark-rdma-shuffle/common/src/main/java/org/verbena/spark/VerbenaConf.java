// SPDX-License-Identifier: Apache-2.0
// The settings spark.verbena.* and their checks.
package org.verbena.spark;

import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.TreeMap;
import org.apache.spark.SparkConf;
import org.apache.spark.network.util.JavaUtils;
import scala.Tuple2;

/** Immutable; a wrong key or value is an {@link IllegalArgumentException} that says what would be right. */
public final class VerbenaConf {
    static final String PREFIX = "spark.verbena.";
    /** Set by the driver for the executors; not for users. */
    static final String INTERNAL = PREFIX + "internal.";
    /** Whether map tasks report sizes as if they had compressed; set by the driver. */
    public static final String PLAN_COMPRESSED = INTERNAL + "planCompressed";
    private static final String CORE = PREFIX + "core.";
    private static final List<String> KEYS = List.of("enabled", "memory", "compress", "transport", "fallback",
        "allowCleartextData", "maxPeers", "chunk");

    private final boolean enabled;
    private final long memory;
    private final boolean compressAuto;
    private final boolean fallbackAllowed;
    private final boolean cleartextAllowed;
    private final int maxPeers;
    private final int chunk;
    private final Map<String, String> core = new TreeMap<>();

    /** Reads and checks the settings of a Spark configuration. */
    public VerbenaConf(SparkConf conf) {
        for (Tuple2<String, String> entry : conf.getAll()) {
            check(entry._1(), entry._2());
        }
        enabled = bool(conf, "enabled", true);
        memory = size(conf, "memory", "0", 0, Long.MAX_VALUE);
        if (memory > 0 && memory < SlabBudget.LEAST) {
            throw bad("memory", conf.get(PREFIX + "memory"), "at least 8m, or nothing for a share of the host's memory");
        }
        compressAuto = choice(conf, "compress", "auto", "as-spark").equals("auto");
        fallbackAllowed = choice(conf, "fallback", "allow", "forbid").equals("allow");
        cleartextAllowed = bool(conf, "allowCleartextData", false);
        maxPeers = (int) number(conf, "maxPeers", 512, 1, 1 << 22);
        chunk = (int) size(conf, "chunk", "64k", 4 << 10, 1 << 20);
        String transport = conf.get(PREFIX + "transport", "");
        if (!transport.isEmpty()) {
            core.put("tl.enable", transport.contains("self") ? transport : "self," + transport);
        }
    }

    private void check(String key, String value) {
        if (!key.toLowerCase(Locale.ROOT).startsWith(PREFIX) || key.startsWith(INTERNAL)) {
            return;
        }
        if (key.startsWith(CORE)) {
            core.put(key.substring(CORE.length()), value);
            return;
        }
        String name = key.substring(PREFIX.length());
        if (!KEYS.contains(name)) {
            String nearest = KEYS.stream().min((a, b) -> Integer.compare(distance(a, name), distance(b, name))).get();
            throw new IllegalArgumentException("unknown setting " + key + "; did you mean " + PREFIX + nearest
                + "? The settings are " + String.join(", ", KEYS) + " and core.*");
        }
    }

    private static int distance(String a, String b) {
        String left = a.toLowerCase(Locale.ROOT);
        String right = b.toLowerCase(Locale.ROOT);
        int[] row = new int[right.length() + 1];
        for (int j = 0; j <= right.length(); j++) {
            row[j] = j;
        }
        for (int i = 1; i <= left.length(); i++) {
            int diagonal = row[0];
            row[0] = i;
            for (int j = 1; j <= right.length(); j++) {
                int above = row[j];
                int change = diagonal + (left.charAt(i - 1) == right.charAt(j - 1) ? 0 : 1);
                row[j] = Math.min(change, Math.min(above, row[j - 1]) + 1);
                diagonal = above;
            }
        }
        return row[right.length()];
    }

    private static IllegalArgumentException bad(String name, String value, String wanted) {
        return new IllegalArgumentException(PREFIX + name + "=" + value + " is not possible; give " + wanted);
    }

    private static boolean bool(SparkConf conf, String name, boolean otherwise) {
        String value = conf.get(PREFIX + name, Boolean.toString(otherwise));
        if (!value.equalsIgnoreCase("true") && !value.equalsIgnoreCase("false")) {
            throw bad(name, value, "true or false");
        }
        return Boolean.parseBoolean(value);
    }

    private static String choice(SparkConf conf, String name, String first, String second) {
        String value = conf.get(PREFIX + name, first);
        if (!value.equals(first) && !value.equals(second)) {
            throw bad(name, value, first + " or " + second);
        }
        return value;
    }

    private static long number(SparkConf conf, String name, long otherwise, long min, long max) {
        String value = conf.get(PREFIX + name, Long.toString(otherwise));
        try {
            long number = Long.parseLong(value);
            if (number >= min && number <= max) {
                return number;
            }
        } catch (NumberFormatException e) {
            throw bad(name, value, "a number from " + min + " to " + max);
        }
        throw bad(name, value, "a number from " + min + " to " + max);
    }

    private static long size(SparkConf conf, String name, String otherwise, long min, long max) {
        String value = conf.get(PREFIX + name, otherwise);
        long bytes;
        try {
            bytes = JavaUtils.byteStringAsBytes(value);
        } catch (NumberFormatException e) {
            throw bad(name, value, "a size like 512m or 4g");
        }
        if (bytes < min || bytes > max) {
            throw bad(name, value, "a size from " + min + " to " + max + " bytes");
        }
        return bytes;
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
        return compressAuto;
    }

    /** Whether blocks that fail on our path are fetched by Spark's own. */
    public boolean fallbackAllowed() {
        return fallbackAllowed;
    }

    /** Whether clear text may leave the host although Spark's network encryption is on. */
    public boolean cleartextAllowed() {
        return cleartextAllowed;
    }

    /** Most executors that this one keeps connected. */
    public int maxPeers() {
        return maxPeers;
    }

    /** Largest piece of a partition while a map task writes it, in bytes. */
    public int chunk() {
        return chunk;
    }

    /** Settings of the native core. */
    public Map<String, String> core() {
        return core;
    }
}
