// SPDX-License-Identifier: Apache-2.0
package org.verbena.hbase;

import java.util.concurrent.TimeUnit;

/**
 * How long the reads of one region take, and so whether the next one may run on a loop: not before some in a row have been short
 * at handlers, and not long after the last short one, because what nobody has read lately may have to come from a disk, and a
 * loop that waits for that serves nobody. When the moving average of the reads on loops is too high, or one was far too long, none
 * is admitted for a second, and handlers decide again. Thread safe; an update that two threads make at a time may be lost.
 */
final class ReadCost {
    /** Short reads in a row, at handlers, after which a region is trusted. */
    static final int TRIALS = 4;
    private static final int SHIFT = 3;
    private static final int FAR = 20;
    private static final long PAUSE = TimeUnit.SECONDS.toNanos(1);
    private static final long LATELY = TimeUnit.SECONDS.toNanos(5);

    private final long most;
    private volatile long average;
    private volatile long pausedUntil;
    private volatile boolean paused;
    private volatile int passed;
    private volatile long lastShort;

    /** most: nanoseconds. */
    ReadCost(long most) {
        this.most = most;
    }

    /** now: a time of System.nanoTime. */
    boolean admits(long now) {
        if (paused && now - pausedUntil >= 0) {
            paused = false;
        }
        return !paused && passed >= TRIALS && now - lastShort < LATELY;
    }

    /** A read at a handler took so many nanoseconds until now. */
    void handled(long took, long now) {
        if (took > most) {
            passed = 0;
            return;
        }
        passed = passed > 0 && now - lastShort < LATELY ? Math.min(TRIALS, passed + 1) : 1;
        lastShort = now;
    }

    /** A read on a loop took so many nanoseconds until now. */
    void add(long took, long now) {
        long next = average + ((took - average) >> SHIFT);
        if (next > most || took > FAR * most) {
            average = 0;
            passed = 0;
            pausedUntil = now + PAUSE;
            paused = true;
            return;
        }
        average = next;
        if (took <= most) {
            lastShort = now;
        }
    }
}
