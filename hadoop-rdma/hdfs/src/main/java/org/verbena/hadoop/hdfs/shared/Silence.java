// SPDX-License-Identifier: Apache-2.0
// How long something has not changed.
package org.verbena.hadoop.hdfs.shared;

import java.util.HashMap;
import java.util.Map;

/**
 * Hosts' clocks differ, so the times that others write are compared with each other alone, and the waiting is timed by this host's
 * own clock. One thread at a time.
 */
final class Silence {
    private record Seen(String state, long since) {
    }

    private final Map<String, Seen> all = new HashMap<>();

    /**
     * Notes what is seen now.
     *
     * @param name of what
     * @param state any text that changes while it lives
     * @param now nanoseconds of this host
     * @return nanoseconds for which it has been so; 0 at the first look
     */
    long nanos(String name, String state, long now) {
        Seen before = all.get(name);
        if (before == null || !before.state.equals(state)) {
            all.put(name, new Seen(state, now));
            return 0;
        }
        return now - before.since;
    }

    /** Begins anew. */
    void forget(String name) {
        all.remove(name);
    }
}
