// SPDX-License-Identifier: Apache-2.0
package org.verbena.core.stream;

import java.nio.ByteBuffer;
import org.verbena.core.RemoteData;

/**
 * Bytes that have arrived, or are being pulled, in a buffer of the pool, or that lie in memory that the sender has lent.
 * Guarded by its stream, but for the bytes.
 */
final class Piece {
    /** Null while the data waits at the sender for memory here. */
    ByteBuffer buffer;
    final RemoteData remote;
    int readAt;
    int writeAt;
    /** False while the pull is in flight, and after it has failed: nobody touches the buffer. */
    boolean ready;
    /** What an eager one of few bytes counts beyond them, because it has a buffer of its own. */
    int overhead;
    /** The buffer is the sender's. */
    final boolean lent;

    private Piece(ByteBuffer buffer, RemoteData remote, int length, boolean ready, boolean lent) {
        this.buffer = buffer;
        this.remote = remote;
        this.writeAt = length;
        this.ready = ready;
        this.lent = lent;
    }

    static Piece announced(RemoteData remote, int length) {
        return new Piece(null, remote, length, false, false);
    }

    static Piece empty(ByteBuffer buffer) {
        return new Piece(buffer, null, 0, true, false);
    }

    static Piece lent(ByteBuffer buffer) {
        return new Piece(buffer, null, buffer.limit(), true, true);
    }

    /** Its bytes came with their messages. */
    boolean isEager() {
        return !lent && remote == null;
    }

    /** True when so many bytes more can be appended. */
    boolean hasSpace(int bytes) {
        return isEager() && buffer.capacity() - writeAt >= bytes;
    }

    void append(ByteBuffer data) {
        int length = data.remaining();
        buffer.duplicate().clear().position(writeAt).put(data);
        writeAt += length;
    }

    int unread() {
        return writeAt - readAt;
    }

    /** Its unread bytes but for the first few, which are not to be changed: who lent them reads them, too, and may change them. */
    ByteBuffer view(int but) {
        return buffer.duplicate().clear().limit(writeAt).position(readAt + but).slice().asReadOnlyBuffer();
    }

    /** Copies the first bytes; the reader alone calls it, without the stream's lock. */
    static int copy(Piece piece, int from, int to, ByteBuffer destination) {
        int length = Math.min(to - from, destination.remaining());
        destination.put(piece.buffer.duplicate().clear().limit(from + length).position(from));
        return length;
    }
}
