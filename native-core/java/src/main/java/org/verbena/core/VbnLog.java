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

    /**
     * Takes one line.
     *
     * @param level {@link #ERROR}, {@link #WARN}, {@link #INFO} or {@link #DEBUG}
     * @param text the line, without a line end
     */
    void line(int level, String text);
}
