// SPDX-License-Identifier: Apache-2.0
// From where a reducer takes segments that it can have both by the core and from shared files.
package org.verbena.hadoop.shuffle;

/**
 * The faster source by the moving average of bytes a second; every twentieth time the other one, whose speed may have changed. A
 * setting may fix the source. Thread safe.
 */
final class SourceChoice {
    private static final int EXPLORE = 20;
    private static final double WEIGHT = 0.2; // of the newest measurement

    /** Index of {@link #rates}. */
    enum Source {
        CORE, SHARED
    }

    /** Null: the faster one. */
    private final Source fixed;
    /** Bytes a second, 0 when it is not known. */
    private final double[] rates = new double[Source.values().length];
    private long choices;

    SourceChoice(Source fixed) {
        this.fixed = fixed;
    }

    synchronized Source next() {
        if (fixed != null) {
            return fixed;
        }
        for (Source source : Source.values()) {
            if (rates[source.ordinal()] == 0) {
                return source;
            }
        }
        Source faster = rates[Source.SHARED.ordinal()] > rates[Source.CORE.ordinal()] ? Source.SHARED : Source.CORE;
        Source other = faster == Source.CORE ? Source.SHARED : Source.CORE;
        return ++choices % EXPLORE == 0 ? other : faster;
    }

    /** So many bytes have come from a source within a time. */
    synchronized void measured(Source source, long bytes, long nanos) {
        double rate = bytes * 1e9 / Math.max(1, nanos);
        double known = rates[source.ordinal()];
        rates[source.ordinal()] = known == 0 ? Math.max(1, rate) : Math.max(1, known + WEIGHT * (rate - known));
    }
}
