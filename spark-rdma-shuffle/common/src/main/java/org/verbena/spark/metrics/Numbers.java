// SPDX-License-Identifier: Apache-2.0
// All numbers of an executor by name: what the metrics publish, and what the log says in a sentence.
package org.verbena.spark.metrics;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.function.BinaryOperator;
import org.verbena.spark.store.SlabStore;

/** Names are part of what users see in Spark's metrics. */
public final class Numbers {
    /** Of which the executors' highest one, and not the sum, says something. */
    private static final Set<String> HIGHEST = Set.of("fetch.median.micros", "fetch.p99.micros");
    private static final List<String> CORE = List.of("rx.bad_frames", "wireup.auth_failed", "wireup.version_refused");

    private Numbers() {
    }

    /** The name of a path's number; unit: ".bytes" or ".blocks". */
    public static String name(Traffic.Path path, String unit) {
        return path.name().toLowerCase(Locale.ROOT) + unit;
    }

    /** The name of a reason's number of blocks. */
    public static String name(Traffic.Reason reason) {
        return "fallback." + reason.name().toLowerCase(Locale.ROOT) + ".blocks";
    }

    /**
     * Collects the numbers.
     *
     * @param traffic null while there is no engine; then everything is 0
     * @param store null while there is none
     * @param load what fetching and serving use now
     * @param core counters of the native core
     * @return the same names in the same order at every call
     */
    public static Map<String, Long> collect(Traffic traffic, SlabStore store, Load load, Map<String, Long> core) {
        Map<String, Long> all = new LinkedHashMap<>();
        for (Traffic.Path path : Traffic.Path.values()) {
            all.put(name(path, ".bytes"), traffic == null ? 0 : traffic.bytes(path));
            all.put(name(path, ".blocks"), traffic == null ? 0 : traffic.blocks(path));
        }
        for (Traffic.Reason reason : Traffic.Reason.values()) {
            all.put(name(reason), traffic == null ? 0 : traffic.fallbacks(reason));
        }
        all.put("slab.used.bytes", store == null ? 0 : store.usedBytes());
        all.put("slab.reserved.bytes", store == null ? 0 : store.reservedBytes());
        all.put("slab.written.bytes", store == null ? 0 : store.writtenBytes());
        all.put("slab.pinned.bytes", store == null ? 0 : store.pinnedBytes());
        all.put("spilled.bytes", store == null ? 0 : store.spilledBytes());
        all.put("spilled.outputs", store == null ? 0 : store.spilledOutputs());
        all.put("fetch.requests", traffic == null ? 0 : traffic.fetches().count());
        all.put("fetch.median.micros", traffic == null ? 0 : traffic.fetches().micros(50));
        all.put("fetch.p99.micros", traffic == null ? 0 : traffic.fetches().micros(99));
        all.put("fetch.timeouts", traffic == null ? 0 : traffic.fetches().timeouts());
        all.put("direct.used.bytes", load.directBytes());
        all.put("direct.bound.bytes", load.directBound());
        all.put("serve.waiting", load.serveWaiting());
        all.put("peers.connected", core.getOrDefault("peers.connected", 0L));
        for (String counter : CORE) {
            all.put(counter, core.getOrDefault(counter, 0L));
        }
        return all;
    }

    /** All numbers, all 0; the caller's own. */
    public static Map<String, Long> none() {
        return collect(null, null, Load.NONE, Map.of());
    }

    /** Adds the numbers of several executors; of times the longest one counts. */
    public static Map<String, Long> sum(Iterable<Map<String, Long>> executors) {
        Map<String, Long> sum = none();
        executors.forEach(numbers -> numbers.forEach((name, value) -> sum.merge(name, value, combining(name))));
        return sum;
    }

    /** How two executors' numbers of this name become one. */
    static BinaryOperator<Long> combining(String name) {
        return HIGHEST.contains(name) ? Long::max : Long::sum;
    }

    /** A number of blocks in words. */
    public static String blocks(long count) {
        return count + (count == 1 ? " block" : " blocks");
    }

    /** Says them for the log; what is 0 is left out. */
    public static String sentence(Map<String, Long> numbers) {
        List<String> read = new ArrayList<>();
        for (Traffic.Path path : Traffic.Path.values()) {
            long blocks = numbers.get(name(path, ".blocks"));
            if (blocks > 0 && path != Traffic.Path.SERVED) {
                read.add(size(numbers.get(name(path, ".bytes"))) + " " + path.text() + " (" + blocks(blocks) + ")");
            }
        }
        List<String> text = new ArrayList<>();
        text.add("wrote " + size(numbers.get("slab.written.bytes")) + " of map outputs to memory (slabs "
            + size(numbers.get("slab.reserved.bytes")) + "), " + size(numbers.get("spilled.bytes")) + " to disk");
        text.add(read.isEmpty() ? "read no blocks" : "read " + String.join(", ", read));
        if (numbers.get(name(Traffic.Path.SERVED, ".blocks")) > 0) {
            text.add("sent " + size(numbers.get(name(Traffic.Path.SERVED, ".bytes"))) + " to others");
        }
        if (numbers.get("fetch.timeouts") > 0) {
            text.add("gave up " + numbers.get("fetch.timeouts") + " requests without an answer");
        }
        List<String> reasons = new ArrayList<>();
        for (Traffic.Reason reason : Traffic.Reason.values()) {
            if (numbers.get(name(reason)) > 0) {
                reasons.add(blocks(numbers.get(name(reason))) + " " + reason.text());
            }
        }
        if (!reasons.isEmpty()) {
            text.add("left to Spark's transport " + String.join(", ", reasons));
        }
        for (String counter : CORE) {
            if (numbers.get(counter) > 0) {
                text.add(counter + " " + numbers.get(counter));
            }
        }
        return String.join("; ", text);
    }

    /** A size in bytes as users read it. */
    public static String size(long bytes) {
        return bytes == 0 ? "0" : bytes < 10_000 ? bytes + " B" : bytes < 10 << 20 ? (bytes >> 10) + " KiB"
            : (bytes >> 20) + " MiB";
    }
}
