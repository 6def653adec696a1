// SPDX-License-Identifier: Apache-2.0
package org.verbena.hadoop.lustre.buffer;

import java.nio.file.Path;

/**
 * The settings of the buffer. Immutable.
 *
 * @param servers of memcached, as the Java client reads them; empty: there is no buffer
 * @param fault what an acknowledged byte survives
 * @param local folder of the writer's disk, for copies; {@link Fault#ASYNC} makes none
 * @param chunk most bytes of an item
 * @param leaseMs silence after which a writer or a flusher counts as dead
 */
public record BufferConf(String servers, Fault fault, Path local, int chunk, long leaseMs) {
    /** Whether new files go through the buffer. */
    public boolean isOn() {
        return !servers.isEmpty();
    }

    /** Pieces of fewer bytes go to the shared directory: an item and a line of the record would cost more. */
    int least() {
        return chunk / 8;
    }
}
