// SPDX-License-Identifier: Apache-2.0
package org.verbena.core.stream;

import java.io.EOFException;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.util.ArrayDeque;
import org.verbena.core.VbnException;
import org.verbena.core.VbnStatus;
import org.verbena.core.plugin.BufferBudget;

/**
 * What a stream sends: bytes, as many as the other side's window takes, and then their end. The bytes of a message are copied
 * into a slot of lent memory, where the other side reads them, or into a buffer of the budget; without either, a write waits for
 * one of this stream's to come back. One thread at a time writes, any
 * thread ends, credit comes on the engine's thread.
 */
final class StreamOutput {
    private static final int NONE = -1;
    /** What a stream gets in any case. */
    static final int LEAST = 80 << 10;
    /** Eager messages of which so many bytes together are remembered as one. */
    private static final int MERGED = 4 << 10;

    private final VbnStream stream;
    private final VbnStreams streams;
    private final PeerStreams owner;
    private final BufferBudget.Share memory;
    /** There was no memory: a write has nothing to gain until some of this stream's has come back. */
    private volatile boolean starved;
    // Guarded by this:
    private long sent;
    private long allowed;
    private boolean ended;
    private boolean readerGone;
    /** Calls that write now: what they write leaves before the end. */
    private int writing;
    /** The flags of an end that waits for them. */
    private int owedEnd = NONE;
    /** What the other side may have unread at most, as its first credit says; 0 before. */
    private long window;
    private final ArrayDeque<LentMemory.Slot> slots = new ArrayDeque<>();
    private final ArrayDeque<Eager> eager = new ArrayDeque<>();
    /** The bytes of these. */
    private int eagerUnread;

    private boolean lastEager;

    /** Bytes in eager messages that the other side may not have read, up to a place of the stream; {@link StreamInput#cost}. */
    private record Eager(long end, int bytes) { }

    /** allowed: bytes that may be sent before a credit has come. */
    StreamOutput(VbnStream stream, VbnStreams streams, PeerStreams owner, long allowed) {
        this.stream = stream;
        this.streams = streams;
        this.owner = owner;
        this.allowed = allowed;
        this.window = allowed;
        this.memory = streams.memory().share(LEAST);
    }

    synchronized long sent() {
        return sent;
    }

    /** Bytes that a write takes now at least, whatever other streams do. */
    synchronized long space() {
        return readerGone || ended ? 0 : Math.min(allowed - sent, memory.certain());
    }

    /** True when a write takes bytes or throws. */
    synchronized boolean isWritable() {
        return readerGone || ended || allowed > sent && !starved;
    }

    /** True while the other side may still read from memory that we lend. */
    synchronized boolean hasSlots() {
        return !slots.isEmpty();
    }

    /** Bytes written of the first sources; 0: the window is full. */
    long write(ByteBuffer[] sources, int count) throws VbnException {
        long left = 0;
        for (int i = 0; i < count; i++) {
            left += sources[i].remaining();
        }
        begin();
        try {
            long total = 0;
            for (int at = 0; total < left;) {
                int length = writable(left - total);
                if (length == 0) {
                    break;
                }
                Outgoing message = outgoing(length);
                if (message == null) {
                    break;
                }
                at = gather(sources, at, message.buffer);
                total += message.buffer.position();
                send(message);
            }
            return total;
        } finally {
            done();
        }
    }

    /** Fills the buffer from sources[at] on; returns the first source that has more. */
    private static int gather(ByteBuffer[] sources, int at, ByteBuffer buffer) {
        int next = at;
        while (buffer.hasRemaining()) {
            ByteBuffer source = sources[next];
            int end = source.limit();
            if (source.remaining() > buffer.remaining()) {
                source.limit(source.position() + buffer.remaining());
            } else {
                next++;
            }
            buffer.put(source);
            source.limit(end);
        }
        return next;
    }

    /** Bytes of the file that were written, at most one message; 0: the window is full. */
    int transferFrom(FileChannel file, long position, int count) throws IOException {
        begin();
        try {
            int length = writable(count);
            Outgoing message = length == 0 ? null : outgoing(length);
            return message == null ? 0 : transfer(file, position, message);
        } finally {
            done();
        }
    }

    private int transfer(FileChannel file, long position, Outgoing message) throws IOException {
        boolean sending = false;
        try {
            int got = 0;
            while (got >= 0 && message.buffer.hasRemaining()) {
                got = file.read(message.buffer, position + message.buffer.position());
            }
            int length = message.buffer.position();
            if (length == 0) {
                throw new EOFException("the file ends before byte " + position + ": it was truncated");
            }
            sending = true;
            send(message);
            return length;
        } finally {
            if (!sending) {
                give(message);
            }
        }
    }

    private synchronized void begin() throws VbnException {
        stream.checkFailure();
        if (ended) {
            throw new VbnException(VbnStatus.CLOSED, "write to a stream whose output was ended");
        }
        if (readerGone) {
            throw new VbnException(VbnStatus.PEER_LOST, "write to a stream that the other side has closed");
        }
        writing++;
    }

    private void done() {
        int flags = NONE;
        synchronized (this) {
            if (--writing == 0) {
                flags = owedEnd;
                owedEnd = NONE;
            }
        }
        if (flags != NONE) {
            sendEnd(flags);
        }
    }

    /** How much of so many bytes may be written now, in one message. */
    private synchronized int writable(long bytes) {
        return (int) Math.min(Math.min(bytes, streams.limits().piece()), allowed - sent);
    }

    /** Bytes that leave together, where they are put: in a slot of lent memory, or a buffer of the budget. */
    private record Outgoing(LentMemory lent, int slot, ByteBuffer buffer) { }

    /** With space for so many bytes, or as many as a slot takes, or as there is memory for; null: there is none. */
    private Outgoing outgoing(int length) throws VbnException {
        LentMemory lent = length < LentMemory.LEAST ? null : owner.lending().lent();
        int slot = lent == null ? -1 : lent.take();
        ByteBuffer own = slot < 0 ? buffer(length) : null;
        return slot < 0 ? own == null ? null : new Outgoing(null, slot, own)
            : new Outgoing(lent, slot, lent.buffer(slot, Math.min(length, LentMemory.SLOT)));
    }

    private ByteBuffer buffer(int length) throws VbnException {
        try {
            ByteBuffer got = memory.takeUpTo(length);
            if (got == null) {
                starved = true;
                got = memory.takeUpTo(length); // of what was given back before anybody knew that it is waited for
                starved = got == null;
            }
            return got;
        } catch (OutOfMemoryError e) {
            VbnException cause = StreamInput.noMemory(length);
            stream.fail(cause);
            throw cause;
        }
    }

    private void give(Outgoing message) {
        if (message.lent == null) {
            giveBack(message.buffer);
        } else {
            message.lent.give(message.slot);
        }
    }

    private void giveBack(ByteBuffer buffer) {
        memory.give(buffer);
        if (starved) {
            starved = false;
            stream.changed();
        }
    }

    /** A buffer of the budget is given back when the other side has its bytes, a slot when it has read them. */
    private void send(Outgoing message) {
        ByteBuffer buffer = message.buffer.flip();
        int length = buffer.remaining();
        long place;
        boolean isEager = false;
        synchronized (this) {
            place = sent;
            sent += length;
            if (message.lent != null) {
                slots.add(new LentMemory.Slot(message.lent, message.slot, sent));
            } else {
                isEager = countEager(StreamInput.cost(length, lastEager));
            }
            lastEager = isEager;
        }
        streams.countSent(length);
        if (message.lent == null) {
            ByteBuffer header = stream.frame(StreamFrame.DATA, 0, place).encode();
            streams.sendData(stream.peer(), header, buffer, !isEager, (error, bytes) -> {
                giveBack(buffer);
                stream.failIf(error);
            });
            return;
        }
        streams.countLent(length);
        if (stream.isClosed()) {
            owner.settle(stream); // it was closed meanwhile
        }
        ByteBuffer header = stream.frame(StreamFrame.LENT, 0, place).encode(LentMemory.offset(message.slot), length);
        streams.send(stream.peer(), header, null, (error, bytes) -> stream.failIf(error));
    }

    /** The last so many bytes may be sent eagerly: the other side takes that many whether it has memory or not. */
    private boolean countEager(int cost) {
        if (eagerUnread + cost > StreamInput.EAGER_MOST) {
            return false;
        }
        eagerUnread += cost;
        Eager last = eager.peekLast();
        boolean merges = last != null && last.bytes + cost <= MERGED;
        eager.add(new Eager(sent, cost + (merges ? eager.pollLast().bytes : 0)));
        return true;
    }

    /** The stream is closed; what has not come back yet still may. */
    void close() {
        memory.close();
    }

    /** Ends the output, when the calls that write now are done; flags: of the frame, 0 does nothing where it has ended. */
    void end(int flags) {
        synchronized (this) {
            if (ended && flags == 0) {
                return;
            }
            ended = true;
            if (writing > 0) {
                owedEnd = owedEnd == NONE ? flags : owedEnd | flags;
                return;
            }
        }
        sendEnd(flags);
    }

    private void sendEnd(int flags) {
        if (stream.failure() == null) {
            stream.control(StreamFrame.FIN, flags, sent());
        }
    }

    /** Engine thread: the other side reads no more. */
    synchronized void readerGone() {
        readerGone = true;
    }

    /** Engine thread: the other side takes so many bytes in all, and has read all but a window of them. */
    synchronized void credit(long total) throws VbnException {
        if (total < allowed) {
            if (stream.isClosed() || readerGone) {
                return; // a reader that closes, and its engine for what comes then, do not wait for each other
            }
            throw new VbnException(VbnStatus.PROTOCOL, "credit that goes back from " + allowed + " to " + total);
        }
        if (stream.isOpener() && window == 0) {
            window = total;
            owner.firstCredit(total);
        }
        allowed = total;
        starved = false; // slots may be free again
        while (!eager.isEmpty() && eager.peek().end <= total - window) {
            eagerUnread -= eager.poll().bytes;
        }
        while (!slots.isEmpty() && slots.peek().end() <= total - window) {
            slots.poll().give();
        }
    }
}
