// SPDX-License-Identifier: Apache-2.0
package org.verbena.hadoop.hdfs;

import java.util.EnumMap;
import java.util.LinkedHashMap;
import java.util.Locale;
import java.util.Map;
import java.util.concurrent.atomic.LongAdder;
import org.verbena.core.stream.VbnStreams;

/** Counts connections by the path they took; the bytes are counted by the streams. Thread safe. */
final class Tally {
    /** Why a connection went by TCP. */
    enum Reason {
        /** The core was still being connected. */
        CONNECTING,
        /** Nobody answered at the greeting's port, or not as a DataNode of ours. */
        NOT_ANSWERED,
        /** The core's connection failed or was lost not long ago. */
        DOWN
    }

    private final LongAdder byCore = new LongAdder();
    private final Map<Reason, LongAdder> byTcp = new EnumMap<>(Reason.class);
    private volatile VbnStreams streams;

    Tally() {
        for (Reason reason : Reason.values()) {
            byTcp.put(reason, new LongAdder());
        }
    }

    /** The core is in use: from now on there are bytes. */
    void streams(VbnStreams used) {
        streams = used;
    }

    void countCore() {
        byCore.increment();
    }

    void countTcp(Reason reason) {
        byTcp.get(reason).increment();
    }

    /** All numbers by name. */
    Map<String, Long> numbers() {
        Map<String, Long> all = new LinkedHashMap<>();
        all.put("connections.core", byCore.sum());
        byTcp.forEach((reason, count) ->
            all.put("connections.tcp." + reason.name().toLowerCase(Locale.ROOT), count.sum()));
        VbnStreams used = streams;
        all.putAll(used == null ? Map.of() : used.counters());
        return all;
    }

    boolean isEmpty() {
        return numbers().values().stream().allMatch(value -> value == 0);
    }

    /** The numbers as a sentence for the log. */
    String sentence() {
        Map<String, Long> now = numbers();
        long tcp = byTcp.values().stream().mapToLong(LongAdder::sum).sum();
        return now.get("connections.core") + " connections by the core and " + tcp + " by TCP ("
            + byTcp.get(Reason.NOT_ANSWERED).sum() + " not answered, " + byTcp.get(Reason.CONNECTING).sum()
            + " while connecting, " + byTcp.get(Reason.DOWN).sum() + " after failures); "
            + now.getOrDefault("stream.sent_bytes", 0L) + " bytes sent and "
            + now.getOrDefault("stream.received_bytes", 0L) + " received by the core, in "
            + now.getOrDefault("stream.opened", 0L) + " streams to others and "
            + now.getOrDefault("stream.accepted", 0L) + " from others";
    }
}
