// SPDX-License-Identifier: Apache-2.0
package org.verbena.hadoop.hdfs;

import java.util.List;
import java.util.Map;
import java.util.concurrent.CopyOnWriteArrayList;
import org.verbena.core.plugin.PathCounts;
import org.verbena.core.stream.VbnStreams;

/** Counts connections by the path they took; the bytes are counted by the streams. Thread safe. */
final class Tally {
    /** Why a connection went by TCP. */
    enum Reason {
        /** Nobody answered at the greeting's port, or not as a DataNode of ours. */
        NOT_ANSWERED,
        /** The core was still being connected. */
        WHILE_CONNECTING,
        /** The core's connection failed or was lost not long ago. */
        AFTER_FAILURES,
        /** The core has nothing but TCP, either ({@link PlainTcp}). */
        PLAIN_TCP,
        /** More DataNodes are reached by the core already than one process remembers. */
        TOO_MANY
    }

    private final PathCounts<Reason> counts = new PathCounts<>("connections", Reason.class);
    private final List<VbnStreams> streams = new CopyOnWriteArrayList<>();

    /** The core is in use: from now on there are bytes. */
    void add(VbnStreams used) {
        streams.add(used);
    }

    void countCore() {
        counts.countCore();
    }

    void countTcp(Reason reason) {
        counts.countTcp(reason);
    }

    /** All numbers by name. */
    Map<String, Long> numbers() {
        Map<String, Long> all = counts.numbers();
        streams.forEach(used -> used.counters().forEach((name, count) -> all.merge(name, count, Long::sum)));
        return all;
    }

    boolean isEmpty() {
        return numbers().values().stream().allMatch(value -> value == 0);
    }

    /** The numbers as a sentence for the log. */
    String sentence() {
        Map<String, Long> now = numbers();
        return counts.sentence() + "; " + now.getOrDefault("stream.sent_bytes", 0L) + " bytes sent and "
            + now.getOrDefault("stream.received_bytes", 0L) + " received by the core, in "
            + now.getOrDefault("stream.opened", 0L) + " streams to others and "
            + now.getOrDefault("stream.accepted", 0L) + " from others";
    }
}
