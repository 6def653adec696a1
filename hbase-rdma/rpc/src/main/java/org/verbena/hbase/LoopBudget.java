// SPDX-License-Identifier: Apache-2.0
package org.verbena.hbase;

/**
 * Leaves half of a loop's time to what loops are for: in each millisecond, reads that run on it may take half of one; what
 * comes beyond that goes to HBase's handlers, which other processors run. Belongs to whoever drives the loop, one thread at a time.
 */
final class LoopBudget {
    private static final long WINDOW = 1_000_000;
    private static final long MOST = WINDOW / 2;

    private long since;
    private long used = MOST;

    /** now: a time of System.nanoTime. */
    boolean admits(long now) {
        if (used >= MOST && now - since >= WINDOW || now - since >= 2 * WINDOW) {
            since = now;
            used = 0;
        }
        return used < MOST;
    }

    /** A read took so many nanoseconds. */
    void add(long took) {
        used += took;
    }
}
