// SPDX-License-Identifier: Apache-2.0
package org.verbena.core;

/**
 * Decides between spinning and sleeping: spins for at most 20 us, and no longer than setting progress.spin says, while
 * work tends to come within that time, an eighth of it otherwise, and not at all without a second processor. Going to
 * sleep is vbn_arm, which polls for up to progress.spin more and yields the processor meanwhile. Engine thread.
 */
final class Idle {
    private static final long SPIN_NANOS = 20_000;

    private final long spinNanos;
    private long budget;
    private long since;

    Idle(long spinNanos) {
        this.spinNanos = Runtime.getRuntime().availableProcessors() > 1 ? Math.min(spinNanos, SPIN_NANOS) : 0;
        budget = this.spinNanos;
    }

    void worked() {
        since = 0;
    }

    /** True to poll again, false to sleep. */
    boolean spin() {
        if (budget == 0) {
            return false;
        }
        long now = System.nanoTime();
        if (since == 0) {
            since = now;
        }
        if (now - since >= budget) {
            return false;
        }
        Thread.onSpinWait();
        return true;
    }

    void slept(long nanos) {
        since = 0;
        budget = nanos < 2 * spinNanos ? spinNanos : spinNanos / 8;
    }
}
