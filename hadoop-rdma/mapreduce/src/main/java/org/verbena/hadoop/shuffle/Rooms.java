// SPDX-License-Identifier: Apache-2.0
// Where a fetcher's bytes land that are not kept as they come.
package org.verbena.hadoop.shuffle;

import java.io.IOException;
import java.nio.ByteBuffer;

/**
 * Two direct buffers, used for one segment after the other: what is made anew for each is given back only when the collector finds
 * it, and nobody counts it meanwhile. Belongs to one fetcher.
 */
final class Rooms {
    /** Of one of them. */
    static final int BYTES = 1 << 20;
    static final int COUNT = 2;

    private final ByteBuffer[] rooms = new ByteBuffer[COUNT];

    /** Empty, with place for so many bytes; used by nothing else until {@link #leave}, or until all has arrived. */
    ByteBuffer take(int which, int bytes) throws IOException {
        if (rooms[which] == null) {
            try {
                rooms[which] = ByteBuffer.allocateDirect(BYTES);
            } catch (OutOfMemoryError e) {
                throw new IOException("this JVM has no memory for a window (" + e.getMessage()
                    + "): raise -XX:MaxDirectMemorySize", e);
            }
        }
        return rooms[which].slice(0, bytes);
    }

    /** Nobody waits any more for what was to land there, after the exchange's end; but a piece of it may still be coming. */
    void leave(int which, Exchange exchange) {
        if (!exchange.isQuiet()) {
            rooms[which] = null;
        }
    }
}
