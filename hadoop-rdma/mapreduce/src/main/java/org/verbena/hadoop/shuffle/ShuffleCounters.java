// SPDX-License-Identifier: Apache-2.0
// What came which way, in the job's counters.
package org.verbena.hadoop.shuffle;

import java.util.Map;
import java.util.TreeMap;
import org.apache.hadoop.mapred.Reporter;

/** Of one reducer; Hadoop adds those of all up. Thread safe. */
final class ShuffleCounters {
    /** The group among the job's counters. */
    static final String GROUP = "Verbena Shuffle";

    /** Why a fetch went by HTTP. */
    enum Reason {
        CONNECTING("while connecting"), REFUSED("not offered by the node"), DOWN("connection lost"),
        TOO_MANY("more nodes than are remembered");

        private final String text;

        Reason(String text) {
            this.text = text;
        }
    }

    private final Reporter reporter;
    private final Map<String, Long> counts = new TreeMap<>();

    ShuffleCounters(Reporter reporter) {
        this.reporter = reporter;
    }

    private synchronized void add(String name, long count) {
        counts.merge(name, count, Long::sum);
        reporter.getCounter(GROUP, name).increment(count);
    }

    /** A segment came by the core. */
    void core(String transport, long bytes) {
        add("Bytes by " + transport, bytes);
        add("Segments by the core", 1);
    }

    /** A segment was read from the map output itself. */
    void shared(long bytes) {
        add("Bytes by shared files", bytes);
        add("Segments by shared files", 1);
    }

    /** The core brings what could not be used from shared files. */
    void sharedFailed() {
        add("Shared files that could not be used", 1);
    }

    /** A segment is in memory outside the heap. */
    void kept(long bytes) {
        add("Bytes kept in memory", bytes);
    }

    /** Kept segments became one before the last map output came. */
    void mergedEarly(int segments) {
        add("Segments merged while maps ran", segments);
    }

    /** A segment went to the stock merge manager. */
    void passedOn(long bytes) {
        add("Bytes passed to the stock merge", bytes);
    }

    /** A fetch goes by HTTP. */
    void http(Reason reason) {
        add("HTTP fetches, " + reason.text, 1);
    }

    /** Bytes that came by HTTP in all. */
    void httpBytes(long bytes) {
        if (bytes > 0) {
            add("Bytes by HTTP", bytes);
        }
    }

    /** Bytes that came by the core or from shared files. */
    synchronized long ownBytes() {
        return counts.entrySet().stream()
            .filter(entry -> entry.getKey().startsWith("Bytes by ") && !entry.getKey().equals("Bytes by HTTP"))
            .mapToLong(Map.Entry::getValue).sum();
    }

    @Override
    public synchronized String toString() {
        StringBuilder text = new StringBuilder();
        counts.forEach((name, count) -> text.append(text.length() == 0 ? "" : ", ").append(name).append(' ').append(count));
        return text.length() == 0 ? "nothing to fetch" : text.toString();
    }
}
