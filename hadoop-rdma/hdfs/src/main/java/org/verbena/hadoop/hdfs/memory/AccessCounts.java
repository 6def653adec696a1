// SPDX-License-Identifier: Apache-2.0
package org.verbena.hadoop.hdfs.memory;

import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.LongSupplier;

/**
 * How often blocks were used lately: a use counts one, and half as much after each half-life. A block that nobody has used for
 * long is forgotten. Thread safe, without a lock of its own.
 */
public final class AccessCounts {
    private static final double HALF_LIFE_MS = 600_000;
    private static final double FORGOTTEN = 1.0 / 64;
    /** Blocks that are remembered; further ones are not, until others are forgotten. */
    private static final int MOST = 1 << 16;

    /** So many uses, as of a moment. */
    private record Count(double uses, long at) {
        double now(long now) {
            return uses * Math.pow(2, -Math.max(0, now - at) / HALF_LIFE_MS);
        }
    }

    private final Map<String, Count> counts = new ConcurrentHashMap<>();
    private final LongSupplier clock;

    /**
     * Counts nothing yet.
     *
     * @param clock tells milliseconds
     */
    public AccessCounts(LongSupplier clock) {
        this.clock = clock;
    }

    /**
     * A block is used.
     *
     * @return its uses with this one
     */
    public double use(String block) {
        long now = clock.getAsLong();
        if (counts.size() >= MOST && !counts.containsKey(block)) {
            return 1;
        }
        return counts.merge(block, new Count(1, now), (before, one) -> new Count(before.now(now) + 1, now)).uses;
    }

    /** Returns a block's uses, with what time has left of them. */
    public double of(String block) {
        Count count = counts.get(block);
        return count == null ? 0 : count.now(clock.getAsLong());
    }

    /** Forgets blocks that nobody has used for long. */
    public void prune() {
        long now = clock.getAsLong();
        counts.values().removeIf(count -> count.now(now) < FORGOTTEN);
    }

    /** Returns how many blocks are remembered. */
    public int size() {
        return counts.size();
    }
}
