// SPDX-License-Identifier: Apache-2.0
// Reads the pieces of a block one after the other.
package org.verbena.spark.store;

import java.io.InputStream;
import java.nio.ByteBuffer;

/** Over pieces of pinned memory; runs onClose once, at close. Belongs to one thread. */
public final class ChunkStream extends InputStream {
    private static final ByteBuffer EMPTY = ByteBuffer.allocate(0);
    private final ByteBuffer[] pieces;
    private final Runnable onClose;
    private int next;
    private ByteBuffer current = EMPTY;
    private boolean closed;

    /**
     * Makes a stream.
     *
     * @param pieces buffers to read from position to limit; the stream moves their positions
     * @param onClose unpins the memory
     */
    public ChunkStream(ByteBuffer[] pieces, Runnable onClose) {
        this.pieces = pieces;
        this.onClose = onClose;
    }

    private boolean advance() {
        while (!current.hasRemaining()) {
            if (closed || next == pieces.length) {
                return false;
            }
            current = pieces[next++];
        }
        return true;
    }

    @Override
    public int read() {
        return current.hasRemaining() || advance() ? current.get() & 0xff : -1;
    }

    @Override
    public int read(byte[] to, int offset, int count) {
        if (count == 0) {
            return 0;
        }
        int done = 0;
        while (done < count && advance()) {
            int n = Math.min(count - done, current.remaining());
            current.get(to, offset + done, n);
            done += n;
        }
        return done == 0 ? -1 : done;
    }

    @Override
    public long skip(long count) {
        long done = 0;
        while (done < count && advance()) {
            int n = (int) Math.min(count - done, current.remaining());
            current.position(current.position() + n);
            done += n;
        }
        return done;
    }

    @Override
    public int available() {
        long sum = current.remaining();
        for (int i = next; i < pieces.length && !closed; i++) {
            sum += pieces[i].remaining();
        }
        return (int) Math.min(Integer.MAX_VALUE, sum);
    }

    @Override
    public void close() {
        if (!closed) {
            closed = true;
            current = EMPTY;
            onClose.run();
        }
    }
}
