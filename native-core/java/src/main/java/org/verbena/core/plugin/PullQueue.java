// SPDX-License-Identifier: Apache-2.0
// Pulls the large replies of one peer a few at a time.
package org.verbena.core.plugin;

import java.util.ArrayDeque;

/**
 * In the order in which they came: the first replies are there early, and are read while the others are under way. All at
 * once they would share the network, and arrive together at the end. Belongs to the engine's thread.
 */
public final class PullQueue {
    /** While so many bytes are under way nothing more is pulled: what 100 Gbit/s carry in two thirds of a millisecond. */
    public static final long WINDOW = 8L << 20;

    private record Pull(long bytes, Runnable start) {
    }

    private final ArrayDeque<Pull> waiting = new ArrayDeque<>();
    private long underWay;
    private boolean starting;

    /** Makes an empty queue. */
    public PullQueue() {
    }

    /**
     * Adds a pull.
     *
     * @param bytes its size
     * @param start run now or later; it, or what it begins, has to call ended(bytes) once
     */
    public void add(long bytes, Runnable start) {
        waiting.add(new Pull(bytes, start));
        startWaiting();
    }

    /**
     * A pull has come to its end, well or not, now or within its start.
     *
     * @param bytes its size, as given to {@link #add}
     */
    public void ended(long bytes) {
        underWay -= bytes;
        startWaiting();
    }

    private void startWaiting() {
        if (starting) {
            return; // called by a start: the loop below goes on
        }
        starting = true;
        try {
            while (underWay < WINDOW && !waiting.isEmpty()) {
                Pull next = waiting.poll();
                underWay += next.bytes();
                next.start().run();
            }
        } finally {
            starting = false;
        }
    }
}
