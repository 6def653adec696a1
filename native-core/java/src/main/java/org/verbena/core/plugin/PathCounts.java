// SPDX-License-Identifier: Apache-2.0
package org.verbena.core.plugin;

import java.util.EnumMap;
import java.util.LinkedHashMap;
import java.util.Locale;
import java.util.Map;
import java.util.concurrent.atomic.LongAdder;

/**
 * Counts what went by the core and what went by the host system's TCP, and why. Thread safe.
 *
 * @param <R> why something went by TCP
 */
public final class PathCounts<R extends Enum<R>> {
    private final String what;
    private final LongAdder byCore = new LongAdder();
    private final Map<R, LongAdder> byTcp;

    /**
     * Makes counters that stand at 0.
     *
     * @param what is counted, in the plural, for names and texts: {@code connections}, {@code calls}
     * @param reasons all reasons
     */
    public PathCounts(String what, Class<R> reasons) {
        this.what = what;
        byTcp = new EnumMap<>(reasons);
        for (R reason : reasons.getEnumConstants()) {
            byTcp.put(reason, new LongAdder());
        }
    }

    /** One went by the core. */
    public void countCore() {
        byCore.increment();
    }

    /**
     * One went by TCP.
     *
     * @param reason why
     */
    public void countTcp(R reason) {
        byTcp.get(reason).increment();
    }

    /** Returns all numbers by name: {@code calls.core}, {@code calls.tcp.connecting}, and so on; may be changed. */
    public Map<String, Long> numbers() {
        Map<String, Long> all = new LinkedHashMap<>();
        all.put(what + ".core", byCore.sum());
        byTcp.forEach((reason, count) -> all.put(what + ".tcp." + reason.name().toLowerCase(Locale.ROOT), count.sum()));
        return all;
    }

    /** Returns the numbers as a part of a sentence: {@code 5 calls by the core and 2 by TCP (2 connecting, 0 down)}. */
    public String sentence() {
        StringBuilder reasons = new StringBuilder();
        byTcp.forEach((reason, count) -> reasons.append(reasons.length() == 0 ? "" : ", ").append(count.sum()).append(' ')
            .append(reason.name().toLowerCase(Locale.ROOT).replace('_', ' ')));
        long tcp = byTcp.values().stream().mapToLong(LongAdder::sum).sum();
        return byCore.sum() + " " + what + " by the core and " + tcp + " by TCP (" + reasons + ")";
    }
}
