// SPDX-License-Identifier: Apache-2.0
package org.verbena.core;

/**
 * Receives the log lines of a {@link VbnContext}. Native code never calls it: lines wait in a bounded native queue and
 * are handed over by whichever Java thread drains that queue next (an engine's, or the caller of a context method), so
 * an implementation must be thread safe and must not block.
 */
@FunctionalInterface
public interface VbnLog {
    /** Something failed. */
    int ERROR = 0;
    /** Something is not as it should be, but work goes on. */
    int WARN = 1;
    /** Normal milestones: the choice of a transport, for example. */
    int INFO = 2;
    /** Detail for developers. */
    int DEBUG = 3;

    /** About this process: settings, limits, memory, devices. */
    int PROCESS = 0;
    /** About a peer and how it is reached; it goes on. */
    int PEER = 1;
    /** A peer was lost, dropped or refused; who uses it is told by an exception, too. */
    int PEER_LOST = 2;

    /**
     * One line.
     *
     * @param level {@link #ERROR}, {@link #WARN}, {@link #INFO} or {@link #DEBUG}
     * @param category {@link #PROCESS}, {@link #PEER} or {@link #PEER_LOST}
     * @param peer {@link VbnPeer#uid()} of the peer that it is about; 0: none, or one that did not prove who it is
     * @param text the line, without a line end
     */
    record Line(int level, int category, long peer, String text) {
    }

    /**
     * Takes one line.
     *
     * @param line the line
     */
    void line(Line line);
}
