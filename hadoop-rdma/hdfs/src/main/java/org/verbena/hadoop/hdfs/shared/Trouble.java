// SPDX-License-Identifier: Apache-2.0
// Faults of the shared path.
package org.verbena.hadoop.hdfs.shared;

import java.io.IOException;
import java.nio.file.Path;
import java.util.concurrent.TimeUnit;
import java.util.function.LongSupplier;

/** After a fault the path gets no new replicas for a minute, and one line tells it. Thread safe. */
final class Trouble {
    static final long PAUSE_NANOS = TimeUnit.MINUTES.toNanos(1);

    private final LongSupplier clock;
    private long until;
    private boolean any;

    Trouble(LongSupplier clock) {
        this.clock = clock;
    }

    synchronized void met(IOException fault, Path folder) {
        if (!isRecent()) {
            SharedTier.LOG.warn("Verbena hhh-l: the shared path {} gets no new replicas for a minute, other tiers get them: {}; {}",
                folder, fault.toString(), SharedPath.cure(fault, folder));
        }
        any = true;
        until = clock.getAsLong() + PAUSE_NANOS;
    }

    synchronized boolean isRecent() {
        return any && clock.getAsLong() - until < 0;
    }
}
