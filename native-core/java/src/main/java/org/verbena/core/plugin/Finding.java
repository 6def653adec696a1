// SPDX-License-Identifier: Apache-2.0
package org.verbena.core.plugin;

import java.io.Serializable;

/**
 * One line of a doctor's report.
 *
 * @param level how it is meant
 * @param text what was found and, where something is in the way, what to do
 */
public record Finding(Level level, String text) implements Serializable {
    /** How a finding is meant. */
    public enum Level {
        /** Works. */
        OK,
        /** Works less well than it could. */
        WARN,
        /** Does not work. */
        BAD
    }

    @Override
    public String toString() {
        return (level == Level.OK ? "  ok    " : level == Level.WARN ? "  warn  " : "  BAD   ") + text;
    }
}
