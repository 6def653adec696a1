// SPDX-License-Identifier: Apache-2.0
package org.verbena.core.stream;

import java.nio.ByteBuffer;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Consumer;
import org.verbena.core.Message;
import org.verbena.core.RemoteData;
import org.verbena.core.VbnEngine;
import org.verbena.core.VbnException;
import org.verbena.core.VbnStatus;
import org.verbena.core.plugin.BufferBudget;
import org.verbena.core.plugin.BufferPool;

/**
 * What a stream has received and nobody has read. Eager data is appended to the last buffer, so that small writes take no
 * buffer each; announced data is pulled, each piece into a buffer of its own, as soon as there is memory for it, and stays with
 * the sender until then. The window bounds both. Frames come on the engine's thread, one other thread reads.
 */
final class StreamInput {
    private static final int LEAST_BUFFER = 16 << 10;
    /** Most eager bytes that wait to be read, each message counted by {@link #cost}: a sender sends further ones by rendezvous. */
    static final int EAGER_MOST = 32 << 10;
    /** The first eager message after one of another kind has a buffer of its own, of so many bytes at least. */
    private static final int OWN_BUFFER = 4 << 10;

    private final VbnEngine engine;
    private final BufferBudget.Share memory;
    private final int window;
    private final Runnable changed;
    private final Consumer<VbnException> fail;
    private final ArrayDeque<Piece> pieces = new ArrayDeque<>();
    /** Those whose data waits at the sender. */
    private final ArrayDeque<Piece> waiting = new ArrayDeque<>();
    private long eagerUnread;
    /** What eager messages that were read since the last credit have cost. */
    private long eagerRead;
    /** The last message that came was eager. */
    private boolean lastEager;
    private long received;
    private long consumed;
    private long granted;
    private boolean ended;
    private boolean closed;
    /** The reader has hold of so many of the first pieces. */
    private int inUse;
    /** Bytes have come in lent memory: the other side waits to hear that all are read. */
    private boolean lentUsed;

    /** Closes the memory. Calls changed and fail, on the thread that drives the engine or reads, when a pull has ended. */
    StreamInput(VbnEngine engine, BufferBudget.Share memory, int window, Runnable changed, Consumer<VbnException> fail) {
        this.engine = engine;
        this.memory = memory;
        this.window = window;
        this.changed = changed;
        this.fail = fail;
        granted = window;
    }

    /** What a stream gets in any case: a message of this size, and buffers of eager data. */
    static int least(int piece) {
        return BufferPool.size(piece) + 3 * LEAST_BUFFER;
    }

    /** What an eager message counts, by the bytes and whether the one before it was eager; the same at both sides. */
    static int cost(int length, boolean afterEager) {
        return afterEager ? length : Math.max(length, OWN_BUFFER);
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
                inUse = 1;
            }
            int length = Piece.copy(first, first.readAt, to, destination);
            consume(length);
            pullMore();
            total += length;
        }
        return total;
    }

    /** The bytes from a place on where they lie, counted from the first unread one, kept until {@link #skip}; null: none there. */
    synchronized ByteBuffer look(int ahead) {
        int left = ahead;
        int count = 0;
        for (Piece piece : pieces) {
            if (closed || !piece.ready) {
                return null;
            }
            count++;
            int unread = piece.unread();
            if (left < unread) {
                inUse = Math.max(inUse, count);
                return piece.view(left);
            }
            left -= unread;
        }
        return null;
    }

    /** After {@link #look}: so many bytes are read, and nobody has hold of others. */
    void skip(int length) {
        consume(length);
        pullMore();
    }

    /** Also after close, which leaves what the reader has hold of. */
    private synchronized void consume(int length) {
        int left = length;
        for (; inUse > 0; inUse--) {
            Piece first = pieces.peek();
            int count = Math.min(left, first.unread());
            left -= count;
            consume(first, count);
            if (closed || first.unread() == 0) {
                pieces.remove(first);
                drop(first);
            }
        }
    }

    private void consume(Piece piece, int length) {
        piece.readAt += length;
        consumed += length;
        if (piece.isEager()) {
            int cost = length + (piece.unread() == 0 ? piece.overhead : 0);
            eagerUnread -= cost;
            eagerRead += cost;
        }
    }

    private void drop(Piece piece) {
        if (!piece.lent) {
            memory.give(piece.buffer);
        }
    }

    /**
     * How much the other side may send in total, when that is worth a frame; else 0. At the end, when it may send no more, it
     * says that lent memory is free again.
     */
    synchronized long credit() {
        boolean over = closed ? inUse == 0 : ended && pieces.isEmpty();
        long now = (closed ? received : consumed) + window;
        boolean worth = over ? lentUsed && now > granted : !closed && !ended
            && (now - granted >= window / 2 || eagerRead >= EAGER_MOST / 2 && now > granted);
        if (!worth) {
            return 0;
        }
        eagerRead = 0;
        granted = now;
        return now;
    }

    /** Engine thread: the next bytes lie in lent memory. */
    void lent(long place, ByteBuffer bytes) throws VbnException {
        check(place, bytes.remaining());
        synchronized (this) {
            lentUsed = true;
            lastEager = false;
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
                announced(message.remote(), length);
            }
        } catch (OutOfMemoryError e) {
            throw noMemory(length);
        }
    }

    private void announced(RemoteData remote, int length) {
        if (keep(Piece.announced(remote, length))) {
            pullMore();
        } else {
            engine.drop(remote);
        }
    }

    private synchronized boolean keep(Piece piece) {
        lastEager = false;
        if (!closed) {
            pieces.add(piece);
            waiting.add(piece);
        }
        return !closed;
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

    private synchronized void append(ByteBuffer data, int length) throws VbnException {
        if (closed) {
            return;
        }
        Piece last = pieces.peekLast();
        int cost = cost(length, lastEager);
        if (last == null || !last.hasSpace(length)) {
            boolean between = last != null && !last.isEager(); // such as the headers of packets, of which many may wait
            last = Piece.empty(eagerBuffer(Math.max(length, between ? OWN_BUFFER : LEAST_BUFFER)));
            pieces.add(last);
        }
        last.append(data);
        last.overhead += cost - length;
        eagerUnread += cost;
        lastEager = true;
    }

    /** Eager bytes are here already: more than a sender may send so fail their stream when memory is short. */
    private ByteBuffer eagerBuffer(int size) throws VbnException {
        ByteBuffer buffer = memory.take(size);
        if (buffer == null && eagerUnread > EAGER_MOST) {
            throw new VbnException(VbnStatus.NO_MEMORY, "no memory for further bytes of a stream: " + eagerUnread
                + " eager ones wait to be read");
        }
        return buffer == null ? memory.force(size) : buffer;
    }

    /** Pulls what waits at the sender, as far as there is memory. No lock is held: completions may run at once. */
    private void pullMore() {
        try {
            for (Piece next = withMemory(); next != null; next = withMemory()) {
                Piece piece = next;
                engine.pull(piece.remote, piece.buffer, (error, bytes) -> pulled(piece, error));
            }
        } catch (VbnException e) {
            fail.accept(e);
        }
    }

    /** The next piece to pull, with a buffer; null: there is none, or no memory until something has been read. */
    private synchronized Piece withMemory() throws VbnException {
        Piece piece = closed ? null : waiting.peek();
        if (piece == null) {
            return null;
        }
        try {
            boolean isNext = pieces.peek() == piece; // nothing can be read, and given back, before it
            piece.buffer = isNext ? memory.force(piece.writeAt) : memory.take(piece.writeAt);
        } catch (OutOfMemoryError e) {
            waiting.clear();
            throw noMemory(piece.writeAt);
        }
        return piece.buffer == null ? null : waiting.poll();
    }

    private void pulled(Piece piece, VbnException error) {
        synchronized (this) {
            piece.ready = error == null;
            if (closed || error != null) {
                memory.give(piece.buffer);
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
    void close() {
        List<Piece> unwanted = new ArrayList<>();
        synchronized (this) {
            closed = true;
            int held = inUse;
            for (Piece piece : pieces.toArray(new Piece[0])) {
                if (piece.ready && held-- <= 0) {
                    pieces.remove(piece);
                    drop(piece);
                } else if (piece.remote != null && piece.buffer == null) {
                    pieces.remove(piece);
                    unwanted.add(piece);
                }
            }
            waiting.clear();
        }
        memory.close();
        unwanted.forEach(piece -> engine.drop(piece.remote));
    }
}
