// SPDX-License-Identifier: Apache-2.0
// Bounds how many requests of a process are outstanding, so that not all others send to it at once (incast).
package org.verbena.core.plugin;

import java.util.ArrayDeque;

/** Requests beyond the bound start in the order in which they came, when others give their grants back. Thread safe. */
public final class Grants {
    private final ArrayDeque<Runnable> waiting = new ArrayDeque<>();
    private int free;
    private boolean starting;

    /**
     * Makes a bound.
     *
     * @param most requests that may be outstanding at a time
     */
    public Grants(int most) {
        free = most;
    }

    /**
     * Runs a request's start when there is a grant for it: now, on this thread, or later on the one that gives a grant back.
     *
     * @param start what begins the request, which takes one grant
     */
    public void acquire(Runnable start) {
        synchronized (this) {
            waiting.add(start);
        }
        startWaiting();
    }

    /** Gives one grant back. */
    public void release() {
        synchronized (this) {
            free++;
        }
        startWaiting();
    }

    /** Starts all that wait, and from now on everything at once. */
    public void lift() {
        synchronized (this) {
            free = Integer.MAX_VALUE / 2;
        }
        startWaiting();
    }

    /** One thread starts requests; what others add or give back meanwhile it sees in its next turn. */
    private void startWaiting() {
        for (Runnable next = take(); next != null; next = take()) {
            try {
                next.run();
            } finally {
                started();
            }
        }
    }

    private synchronized Runnable take() {
        if (starting || free == 0 || waiting.isEmpty()) {
            return null;
        }
        free--;
        starting = true;
        return waiting.poll();
    }

    private synchronized void started() {
        starting = false;
    }
}
