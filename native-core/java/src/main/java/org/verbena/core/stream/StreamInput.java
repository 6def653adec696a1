// SPDX-License-Identifier: Apache-2.0
package org.verbena.core.stream;

import java.nio.ByteBuffer;
import java.util.ArrayDeque;
import java.util.function.Consumer;
import org.verbena.core.Message;
import org.verbena.core.VbnEngine;
import org.verbena.core.VbnException;
import org.verbena.core.VbnStatus;
import org.verbena.core.plugin.BufferPool;

/**
 * What a stream has received and nobody has read. Eager data is appended to the last buffer, so that small writes take no
 * buffer each; announced data is pulled at once, each piece into a buffer of its own. The window bounds both. Frames come
 * on the engine's thread, one other thread reads.
 */
final class StreamInput {
    private static final int LEAST_BUFFER = 16 << 10;

    private final VbnEngine engine;
    private final BufferPool pool;
    private final int window;
    private final Runnable changed;
    private final Consumer<VbnException> fail;
    private final ArrayDeque<Piece> pieces = new ArrayDeque<>();
    private long received;
    private long consumed;
    private long granted;
    private boolean ended;
    private boolean closed;
    /** The reader copies out of the first piece. */
    private boolean reading;
    /** Bytes have come in lent memory: the other side waits to hear that all are read. */
    private boolean lentUsed;

    /** Calls changed and fail, on the engine's thread, when a pull has ended. */
    StreamInput(VbnEngine engine, BufferPool pool, int window, Runnable changed, Consumer<VbnException> fail) {
        this.engine = engine;
        this.pool = pool;
        this.window = window;
        this.changed = changed;
        this.fail = fail;
        granted = window;
    }

    synchronized long received() {
        return received;
    }

    /** True when something has come, or the end. */
    synchronized boolean hasBegun() {
        return received > 0 || ended;
    }

    /** True when a read gives bytes or the end. */
    synchronized boolean isReadable() {
        return pieces.isEmpty() ? ended || closed : pieces.peek().ready;
    }

    /** Bytes read; 0: nothing there; -1: the end. */
    int read(ByteBuffer destination) {
        int total = 0;
        while (destination.hasRemaining()) {
            Piece first;
            int to;
            synchronized (this) {
                first = pieces.peek();
                if (closed || first == null || !first.ready) {
                    return total == 0 && (closed || first == null && ended) ? -1 : total;
                }
                to = first.writeAt;
                reading = true;
            }
            int length = Piece.copy(first, first.readAt, to, destination);
            consume(first, length);
            total += length;
        }
        return total;
    }

    private synchronized void consume(Piece first, int length) {
        reading = false;
        first.readAt += length;
        consumed += length;
        if (closed || first.readAt == first.writeAt) {
            pieces.remove(first);
            drop(first);
        }
    }

    private void drop(Piece piece) {
        if (!piece.lent) {
            pool.give(piece.buffer);
        }
    }

    /**
     * How much the other side may send in total, when that is worth a frame; else 0. At the end, when it may send no more, it
     * says that lent memory is free again.
     */
    synchronized long credit() {
        boolean over = closed ? !reading : ended && pieces.isEmpty();
        long now = (closed ? received : consumed) + window;
        boolean worth = over ? lentUsed && now > granted : !closed && !ended && now - granted >= window / 2;
        if (!worth) {
            return 0;
        }
        granted = now;
        return now;
    }

    /** Engine thread: the next bytes lie in lent memory. */
    void lent(long place, ByteBuffer bytes) throws VbnException {
        check(place, bytes.remaining());
        synchronized (this) {
            lentUsed = true;
            if (!closed) {
                pieces.add(Piece.lent(bytes));
            }
        }
    }

    /** Engine thread: the next bytes have come, or are announced. */
    void data(long place, Message message) throws VbnException {
        check(place, message.length());
        int length = (int) message.length();
        try {
            if (message.remote() == null) {
                append(message.data(), length);
            } else {
                pull(message, length);
            }
        } catch (OutOfMemoryError e) {
            throw noMemory(length);
        }
    }

    static VbnException noMemory(int bytes) {
        return new VbnException(VbnStatus.NO_MEMORY, "no direct memory for " + bytes
            + " bytes of a stream: raise -XX:MaxDirectMemorySize");
    }

    private synchronized void check(long place, long length) throws VbnException {
        if (ended || place != received || length <= 0 || length > granted - received) {
            throw new VbnException(VbnStatus.PROTOCOL, length + " bytes at " + place + " of a stream that "
                + (ended ? "has ended" : "is at " + received + " and may go to " + granted));
        }
        received += length;
    }

    private synchronized void append(ByteBuffer data, int length) {
        if (closed) {
            return;
        }
        Piece last = pieces.peekLast();
        if (last == null || !last.hasSpace(length)) {
            last = Piece.empty(pool.take(Math.max(length, LEAST_BUFFER)));
            pieces.add(last);
        }
        last.append(data);
    }

    private void pull(Message message, int length) {
        Piece piece = Piece.pulled(pool.take(length));
        synchronized (this) {
            pieces.add(piece);
        }
        engine.pull(message.remote(), piece.buffer, (error, bytes) -> pulled(piece, error));
    }

    private void pulled(Piece piece, VbnException error) {
        synchronized (this) {
            piece.ready = error == null;
            if (closed || error != null) {
                pool.give(piece.buffer);
            }
            if (closed) {
                pieces.remove(piece);
            } // else one that failed stays: the reader does not get beyond it, nor to the end
        }
        if (error == null) {
            changed.run();
        } else {
            fail.accept(error);
        }
    }

    synchronized void end(long total) throws VbnException {
        if (ended && total == received) {
            return; // output ended, and then the stream closed
        }
        if (ended || total != received) {
            throw new VbnException(VbnStatus.PROTOCOL, "end at " + total + " of a stream that is at " + received);
        }
        ended = true;
    }

    /** Gives all buffers back; one in use when its user has done. */
    synchronized void close() {
        closed = true;
        boolean first = true;
        for (Piece piece : pieces.toArray(new Piece[0])) {
            if (piece.ready && !(first && reading)) {
                pieces.remove(piece);
                drop(piece);
            }
            first = false;
        }
    }
}
