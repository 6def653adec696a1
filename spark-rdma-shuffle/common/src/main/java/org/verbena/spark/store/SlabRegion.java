// SPDX-License-Identifier: Apache-2.0
// A block of any size in slabs, on its way to a socket.
package org.verbena.spark.store;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.WritableByteChannel;

/**
 * No buffer of Netty's can have more than 2 GiB. The pieces stay pinned by whoever made them.
 */
final class SlabRegion extends WholeRegion {
    /** The JDK would copy larger buffers as a whole for every partial write. */
    private static final int MAX_WRITE = 1 << 20;

    private final ByteBuffer[] pieces;
    /** The piece in which the last byte was, and the position of its first byte. */
    private int current;
    private long currentStart;

    /**
     * Makes a region.
     *
     * @param pieces the bytes, from position to limit of each
     * @param count how many these are together
     */
    SlabRegion(ByteBuffer[] pieces, long count) {
        super(count);
        this.pieces = pieces;
    }

    /** Writes what the target takes of the bytes from position on, or at least of the piece that it is in. */
    @Override
    public long transferTo(WritableByteChannel target, long position) throws IOException {
        if (position < 0 || position >= count()) {
            return 0;
        }
        seek(position);
        ByteBuffer piece = pieces[current];
        int from = piece.position() + (int) (position - currentStart);
        int written = target.write(piece.duplicate().position(from).limit(Math.min(piece.limit(), from + MAX_WRITE)));
        return taken(written);
    }

    private void seek(long position) {
        if (position < currentStart) {
            current = 0;
            currentStart = 0;
        }
        while (position >= currentStart + pieces[current].remaining()) {
            currentStart += pieces[current++].remaining();
        }
    }

    @Override
    protected void deallocate() {
        // The managed buffer unpins the memory.
    }
}
