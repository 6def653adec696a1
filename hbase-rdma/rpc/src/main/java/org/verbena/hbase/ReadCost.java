// SPDX-License-Identifier: Apache-2.0
package org.verbena.hbase;

import java.util.concurrent.TimeUnit;

/**
 * How long the reads of one region take on the loops: their moving average. When it is too high, or one read was far too long
 * (it came from a disk), none is admitted for a second; then the first ones decide again. Thread safe; an update that two
 * threads make at a time may be lost.
 */
final class ReadCost {
    private static final int SHIFT = 3;
    private static final int FAR = 20;
    private static final long PAUSE = TimeUnit.SECONDS.toNanos(1);

    private final long most;
    private volatile long average;
    private volatile long pausedUntil;
    private volatile boolean paused;

    /** most: nanoseconds. */
    ReadCost(long most) {
        this.most = most;
    }

    /** now: a time of System.nanoTime. */
    boolean admits(long now) {
        if (paused && now - pausedUntil >= 0) {
            paused = false;
        }
        return !paused;
    }

    /** A read took so many nanoseconds until now. */
    void add(long took, long now) {
        long next = average + ((took - average) >> SHIFT);
        if (next > most || took > FAR * most) {
            average = 0;
            pausedUntil = now + PAUSE;
            paused = true;
        } else {
            average = next;
        }
    }
}
