// SPDX-License-Identifier: Apache-2.0
package org.verbena.core.stream;

import java.nio.ByteBuffer;

/**
 * Bytes that have arrived, or are being pulled, in a buffer of the pool, or that lie in memory that the sender has lent.
 * Guarded by its stream, but for the bytes.
 */
final class Piece {
    final ByteBuffer buffer;
    int readAt;
    int writeAt;
    /** False while the pull is in flight, and after it has failed: nobody touches the buffer. */
    boolean ready;
    /** The buffer is the sender's. */
    final boolean lent;

    private Piece(ByteBuffer buffer, int length, boolean ready, boolean lent) {
        this.buffer = buffer;
        this.writeAt = length;
        this.ready = ready;
        this.lent = lent;
    }

    static Piece pulled(ByteBuffer buffer) {
        return new Piece(buffer, buffer.limit(), false, false);
    }

    static Piece empty(ByteBuffer buffer) {
        return new Piece(buffer, 0, true, false);
    }

    static Piece lent(ByteBuffer buffer) {
        return new Piece(buffer, buffer.limit(), true, true);
    }

    /** True when so many bytes more can be appended. */
    boolean hasSpace(int bytes) {
        return ready && !lent && buffer.capacity() - writeAt >= bytes;
    }

    void append(ByteBuffer data) {
        int length = data.remaining();
        buffer.duplicate().clear().position(writeAt).put(data);
        writeAt += length;
    }

    /** Copies the first bytes; the reader alone calls it, without the stream's lock. */
    static int copy(Piece piece, int from, int to, ByteBuffer destination) {
        int length = Math.min(to - from, destination.remaining());
        destination.put(piece.buffer.duplicate().clear().limit(from + length).position(from));
        return length;
    }
}
