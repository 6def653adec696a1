// SPDX-License-Identifier: Apache-2.0
package org.verbena.spark;

import java.util.concurrent.TimeUnit;

/** What users of an environment's engine find in some seconds. */
public final class Later {
    private Later() {
    }

    /** The engine that a user finds then; null when there is none. */
    public static ShuffleEngine engine(VerbenaShuffleManager manager, int seconds) {
        return manager.engine(System.nanoTime() + TimeUnit.SECONDS.toNanos(seconds));
    }
}
