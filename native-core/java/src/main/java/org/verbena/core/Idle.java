// SPDX-License-Identifier: Apache-2.0
package org.verbena.core;

/**
 * Decides between spinning and sleeping: spins as long as setting progress.spin says while work tends to come within
 * that time, an eighth of it otherwise, and not at all without a second processor. Engine thread.
 */
final class Idle {
    private final long spinNanos;
    private long budget;
    private long since;

    Idle(String spin) {
        spinNanos = Runtime.getRuntime().availableProcessors() > 1 ? parseNanos(spin) : 0;
        budget = spinNanos;
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

    /** Reads a time as the settings print it: a number and ns, us, ms, s or min. */
    static long parseNanos(String text) {
        int digits = 0;
        while (digits < text.length() && Character.isDigit(text.charAt(digits))) {
            digits++;
        }
        long number = Long.parseLong(text.substring(0, digits));
        return number * switch (text.substring(digits)) {
            case "", "ns" -> 1L;
            case "us" -> 1_000L;
            case "ms" -> 1_000_000L;
            case "s" -> 1_000_000_000L;
            case "min" -> 60_000_000_000L;
            default -> throw new IllegalArgumentException("not a time: " + text);
        };
    }
}
