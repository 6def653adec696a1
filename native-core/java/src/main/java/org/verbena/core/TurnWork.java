// SPDX-License-Identifier: Apache-2.0
package org.verbena.core;

/** What whoever drives an engine does besides, in each turn ({@link VbnContext#attachSharedEngine}). */
public interface TurnWork {
    /**
     * Does what can be done now. One thread at a time, which counts as the engine's.
     *
     * @return true when there was something
     */
    boolean run();

    /** Returns true when {@link #run} has something to do; who brings it calls {@link VbnEngine#wake}. Any thread. */
    boolean waits();

    /** Returns after how many nanoseconds {@link #run} has to be called although nothing comes. Called as run is. */
    long delayNanos();
}
