// SPDX-License-Identifier: Apache-2.0
package org.verbena.hadoop.lustre.buffer;

/** What an acknowledged byte survives (setting {@code lustre.buffer.fault}). */
public enum Fault {
    /** The end of the writer; a lost server damages the file. */
    ASYNC,
    /** The loss of servers, too: the writer's disk has a copy until the shared directory has the bytes. */
    ASYNC_LOCAL,
    /** All of it: the shared directory has the bytes. The disk has copies until then, too. */
    SYNC;

    /** Reads the word of the setting. */
    public static Fault of(String word) {
        return valueOf(word.toUpperCase(java.util.Locale.ROOT).replace('-', '_'));
    }
}
