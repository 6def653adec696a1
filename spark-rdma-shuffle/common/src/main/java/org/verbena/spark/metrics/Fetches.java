// SPDX-License-Identifier: Apache-2.0
// How long requests to other executors take.
package org.verbena.spark.metrics;

import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLongArray;
import java.util.concurrent.atomic.LongAdder;

/** A count for each quarter of a power of two, from a microsecond on: a time is told at most a quarter too long. Thread safe. */
public final class Fetches {
    private static final int PARTS = 4;
    private static final int POWERS = 40;

    private final AtomicLongArray counts = new AtomicLongArray(POWERS * PARTS);
    private final LongAdder timeouts = new LongAdder();

    /** Nothing yet. */
    Fetches() {
    }

    /** Counts a request whose last block came so many nanoseconds after it was sent. */
    public void completed(long nanos) {
        counts.incrementAndGet(bucket(Math.max(1, TimeUnit.NANOSECONDS.toMicros(nanos))));
    }

    /** Counts a request that was given up, because nothing came. */
    public void timedOut() {
        timeouts.increment();
    }

    private static int bucket(long micros) {
        if (micros < PARTS) {
            return (int) micros;
        }
        int power = Math.min(POWERS - 1, 63 - Long.numberOfLeadingZeros(micros));
        return power * PARTS + (int) (micros >> power - 2 & PARTS - 1);
    }

    /** First microsecond after a bucket. */
    private static long end(int bucket) {
        if (bucket < PARTS) {
            return bucket + 1;
        }
        int power = bucket / PARTS;
        return (1L << power) + (bucket % PARTS + 1L << power - 2);
    }

    /** Requests that were answered by the core. */
    public long count() {
        long sum = 0;
        for (int i = 0; i < counts.length(); i++) {
            sum += counts.get(i);
        }
        return sum;
    }

    /** Requests that were given up. */
    public long timeouts() {
        return timeouts.sum();
    }

    /**
     * The time within which this part of all requests was answered.
     *
     * @param percent 1 to 100
     * @return microseconds, 0 when there were none
     */
    public long micros(int percent) {
        long wanted = (count() * percent + 99) / 100;
        long seen = 0;
        for (int i = 0; i < counts.length() && wanted > 0; i++) {
            seen += counts.get(i);
            if (seen >= wanted) {
                return end(i);
            }
        }
        return 0;
    }
}
