// SPDX-License-Identifier: Apache-2.0
package org.apache.hadoop.metrics2.lib;

import java.util.concurrent.TimeUnit;

/** Averages are told after five minutes; a test wants them at once. */
public final class RolledSoon {
    private static final int WINDOWS = 10_000; // none is forgotten within a test
    private static final long EVERY_MS = 50;

    private RolledSoon() {
    }

    /** Tells averages twenty times a second. */
    public static void let(MutableRollingAverages averages) {
        averages.replaceScheduledTask(WINDOWS, EVERY_MS, TimeUnit.MILLISECONDS);
    }
}
