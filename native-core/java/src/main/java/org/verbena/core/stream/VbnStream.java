// SPDX-License-Identifier: Apache-2.0
package org.verbena.core.stream;

import java.io.EOFException;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.util.ArrayDeque;
import org.verbena.core.Message;
import org.verbena.core.VbnEngine;
import org.verbena.core.VbnException;
import org.verbena.core.VbnPeer;
import org.verbena.core.VbnStatus;

/**
 * Bytes in order, in both directions, without blocking. One thread at a time reads and one writes; close and all else may
 * be called from any thread. What is written is copied; the reader's window bounds what is in flight.
 *
 * <p>A failure (reset, lost peer, malformed frame) is a {@link VbnException} from then on, for a reader after the bytes that
 * have arrived.
 */
public final class VbnStream implements AutoCloseable {
    private final VbnStreams streams;
    private final PeerStreams owner;
    private final int number;
    private final boolean opener;
    private final StreamInput input;
    private volatile StreamListener listener;
    // Guarded by this:
    private Object attachment;
    private VbnException failure;
    private long sent;
    private long allowed;
    private boolean accepted;
    private boolean refused;
    private boolean outputEnded;
    private boolean readerGone;
    private boolean closed;
    /** What the other side may have unread at most, as its first credit says; 0 before. */
    private long window;
    private final ArrayDeque<LentMemory.Slot> slots = new ArrayDeque<>();

    VbnStream(VbnStreams streams, PeerStreams owner, int number, boolean opener, long allowed) {
        this.streams = streams;
        this.owner = owner;
        this.number = number;
        this.opener = opener;
        this.allowed = allowed;
        this.window = allowed;
        this.accepted = !opener;
        this.input = new StreamInput(streams.engine(), streams.pool(), streams.limits().window(), this::changed,
            this::fail);
    }

    /** Returns the other side. */
    public VbnPeer peer() {
        return owner.peer();
    }

    /** Returns the engine, for those who wait. */
    public VbnEngine engine() {
        return streams.engine();
    }

    /**
     * Sets who is told of changes; told at once, because something may have changed before.
     *
     * @param listener the listener, null for nobody
     */
    public void onChange(StreamListener listener) {
        this.listener = listener;
        changed();
    }

    /**
     * Hangs an object on the stream.
     *
     * @param object the object or null
     */
    public synchronized void attach(Object object) {
        attachment = object;
    }

    /** Returns the object given to {@link #attach}, or null. */
    public synchronized Object attachment() {
        return attachment;
    }

    /** True when it is known that the other side has accepted the stream. */
    public synchronized boolean isAccepted() {
        return accepted || input.hasBegun();
    }

    /** True when the other side has refused the stream: it has no such service, or no place. */
    public synchronized boolean isRefused() {
        return refused;
    }

    /** Returns why the stream has failed, null when it has not. */
    public synchronized VbnException failure() {
        return failure;
    }

    /** Returns the bytes written so far. */
    public synchronized long sent() {
        return sent;
    }

    /** Returns the bytes that have arrived so far, or are being pulled. */
    public long received() {
        return input.received();
    }

    /**
     * Reads what is there.
     *
     * @param destination any buffer; its position moves
     * @return bytes read; 0 when nothing is there yet; -1 at the end of the stream, and after {@link #close}
     * @throws VbnException when the stream has failed and all that had arrived is read
     */
    public int read(ByteBuffer destination) throws VbnException {
        int count = input.read(destination);
        if (count != 0) {
            sendCredit();
        }
        if (count > 0) {
            return count;
        }
        synchronized (this) {
            if (closed || count < 0) {
                return -1;
            }
            if (failure != null && destination.hasRemaining() && !input.isReadable()) {
                throw failed();
            }
        }
        return 0;
    }

    private void sendCredit() {
        long credit = input.credit();
        if (credit > 0) {
            control(StreamFrame.CREDIT, 0, credit);
        }
    }

    /** True when {@link #read} gives bytes, the end, or a failure. */
    public boolean isReadable() {
        synchronized (this) {
            if (closed || failure != null) {
                return true;
            }
        }
        return input.isReadable();
    }

    /**
     * Writes as much as the other side's window takes. The bytes are copied.
     *
     * @param source any buffer; its position moves
     * @return bytes written, 0 when the window is full or the stream is not yet accepted
     * @throws VbnException when the stream has failed, or its output was ended
     */
    public int write(ByteBuffer source) throws VbnException {
        return (int) write(new ByteBuffer[] {source}, 1);
    }

    /**
     * Writes as much of several buffers as the other side's window takes, one after the other; small ones leave in one message.
     * The bytes are copied.
     *
     * @param sources any buffers; their positions move
     * @param count how many of them, from the first
     * @return bytes written, 0 when the window is full or the stream is not yet accepted
     * @throws VbnException when the stream has failed, or its output was ended
     */
    public long write(ByteBuffer[] sources, int count) throws VbnException {
        long left = 0;
        for (int i = 0; i < count; i++) {
            left += sources[i].remaining();
        }
        long total = 0;
        for (int at = 0; total < left;) {
            int length = writable((int) Math.min(left - total, Integer.MAX_VALUE));
            if (length == 0) {
                break;
            }
            Space space = space(length);
            at = gather(sources, at, space.buffer);
            length = space.buffer.position();
            send(space);
            total += length;
        }
        return total;
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

    /**
     * Writes bytes of a file, read straight into what is sent: at most one message, and what the other side's window takes.
     *
     * @param file the file, opened for reading; its position stays
     * @param position the first byte in the file
     * @param count most bytes, more than 0
     * @return bytes written, 0 when the window is full or the stream is not yet accepted
     * @throws EOFException when the file has nothing at the position
     * @throws IOException when the file cannot be read; the stream is as before
     * @throws VbnException when the stream has failed, or its output was ended
     */
    public int transferFrom(FileChannel file, long position, int count) throws IOException {
        int length = writable(count);
        if (length == 0) {
            return 0;
        }
        Space space = space(length);
        ByteBuffer buffer = space.buffer;
        boolean sending = false;
        try {
            int got = 0;
            while (got >= 0 && buffer.hasRemaining()) {
                got = file.read(buffer, position + buffer.position());
            }
            length = buffer.position();
            if (length == 0) {
                throw new EOFException("the file ends before byte " + position + ": it was truncated");
            }
            sending = true;
            send(space);
            return length;
        } finally {
            if (!sending) {
                give(space);
            }
        }
    }

    /** How much of so many bytes may be written now, in one message. */
    private synchronized int writable(int bytes) throws VbnException {
        checkWritable();
        return (int) Math.min(Math.min(bytes, streams.limits().piece()), allowed - sent);
    }

    /** With the lock. */
    private void checkWritable() throws VbnException {
        if (failure != null) {
            throw failed();
        }
        if (readerGone) {
            throw new VbnException(VbnStatus.PEER_LOST, "write to a stream that the other side has closed");
        }
        if (outputEnded) {
            throw new VbnException(VbnStatus.CLOSED, "write to a stream whose output was ended");
        }
    }

    private ByteBuffer buffer(int length) throws VbnException {
        try {
            return streams.pool().take(length);
        } catch (OutOfMemoryError e) {
            VbnException cause = StreamInput.noMemory(length);
            fail(cause);
            throw cause;
        }
    }

    /** Where the bytes of one message are put together: a slot of lent memory, or a buffer of the pool. */
    private record Space(LentMemory lent, int slot, ByteBuffer buffer) { }

    /** Space for so many bytes; of a slot for as many as it takes. */
    private Space space(int length) throws VbnException {
        LentMemory lent = length < LentMemory.LEAST ? null : owner.lending().lent();
        int slot = lent == null ? -1 : lent.take();
        return slot < 0 ? new Space(null, slot, buffer(length))
            : new Space(lent, slot, lent.buffer(slot, Math.min(length, LentMemory.SLOT)));
    }

    private void give(Space space) {
        if (space.lent == null) {
            streams.pool().give(space.buffer);
        } else {
            space.lent.give(space.slot);
        }
    }

    /** Sends what was put into it. A buffer of the pool is given back when the other side has its bytes, a slot when it has read. */
    private void send(Space space) {
        ByteBuffer buffer = space.buffer.flip();
        int length = buffer.remaining();
        long place;
        boolean late;
        synchronized (this) {
            place = sent;
            sent += length;
            if (space.lent != null) {
                slots.add(new LentMemory.Slot(space.lent, space.slot, sent));
            }
            late = closed;
        }
        streams.countSent(length);
        if (space.lent == null) {
            streams.send(peer(), frame(StreamFrame.DATA, 0, place).encode(), buffer, (error, bytes) -> {
                streams.pool().give(buffer);
                failIf(error);
            });
            return;
        }
        streams.countLent(length);
        if (late) {
            owner.settle(this);
        }
        ByteBuffer header = frame(StreamFrame.LENT, 0, place).encode(LentMemory.offset(space.slot), length);
        streams.send(peer(), header, null, (error, bytes) -> failIf(error));
    }

    private void failIf(VbnException error) {
        if (error != null) {
            fail(error);
        }
    }

    /** True while the other side may still read from memory that we lend. */
    synchronized boolean hasSlots() {
        return !slots.isEmpty();
    }

    /** Returns how many bytes {@link #write} would take now; only the thread that writes makes them fewer. */
    public synchronized long space() {
        return failure != null || readerGone || outputEnded ? 0 : allowed - sent;
    }

    /** True when {@link #write} takes bytes or throws. */
    public synchronized boolean isWritable() {
        return failure != null || readerGone || outputEnded || allowed > sent;
    }

    /** Ends the output: the other side reads -1 after what was written. Idempotent. */
    public void endOutput() {
        end(0);
    }

    private void end(int flags) {
        long total;
        synchronized (this) {
            if (failure != null || outputEnded && flags == 0) {
                return;
            }
            outputEnded = true;
            total = sent;
        }
        control(StreamFrame.FIN, flags, total);
    }

    /** Ends the output and reads no more; what was written before is still delivered. Idempotent. */
    @Override
    public void close() {
        synchronized (this) {
            if (closed) {
                return;
            }
            closed = true;
        }
        end(StreamFrame.FLAG_NO_READ);
        owner.forget(this);
        input.close();
        sendCredit();
        changed();
    }

    /** Ends both directions at once; the other side's reads and writes fail. Idempotent. */
    public void reset() {
        reset("the stream was reset here");
    }

    /**
     * As {@link #reset()}, for a cause that writes and failures name.
     *
     * @param cause the cause
     */
    public void reset(String cause) {
        if (fail(new VbnException(VbnStatus.CLOSED, cause))) {
            control(StreamFrame.RESET, 0, StreamFrame.REASON_FAILED);
        }
        close();
    }

    private StreamFrame frame(int type, int flags, long value) {
        return new StreamFrame(type, flags | (opener ? StreamFrame.FLAG_OPENER : 0), number, value);
    }

    private void control(int type, int flags, long value) {
        streams.send(peer(), frame(type, flags, value).encode(), null, (error, bytes) -> failIf(error));
    }

    int number() {
        return number;
    }

    boolean isOpener() {
        return opener;
    }

    /** Sends the first credit: the stream is accepted here. */
    void accept() {
        control(StreamFrame.CREDIT, 0, streams.limits().window());
    }

    /** A stream that its service did not take: without a frame. */
    void discard() {
        synchronized (this) {
            closed = true;
        }
        owner.forget(this);
        input.close();
    }

    // ------------------------------------------------------------------------- frames, on the engine's thread

    void handle(StreamFrame frame, Message message) throws VbnException {
        switch (frame.type()) {
            case StreamFrame.DATA -> data(frame.value(), message);
            case StreamFrame.LENT -> lent(frame.value(), owner.lending().bytes(message.header()));
            case StreamFrame.CREDIT -> credit(frame.value());
            case StreamFrame.FIN -> finished(frame);
            case StreamFrame.RESET -> broken(frame.value());
            default -> throw new VbnException(VbnStatus.PROTOCOL, "a stream was opened twice, or has a frame of none");
        }
        changed();
    }

    private void broken(long reason) {
        synchronized (this) {
            refused = reason == StreamFrame.REASON_REFUSED;
        }
        fail(new VbnException(VbnStatus.PEER_LOST, StreamFrame.reason(reason)));
    }

    private void data(long place, Message message) throws VbnException {
        input.data(place, message);
        streams.countReceived(message.length(), message.remote() != null);
    }

    private void lent(long place, ByteBuffer bytes) throws VbnException {
        input.lent(place, bytes);
        streams.countReceived(bytes.remaining(), true);
        sendCredit(); // it may have been closed meanwhile
    }

    private void credit(long total) throws VbnException {
        synchronized (this) {
            if (total < allowed && (closed || readerGone)) {
                return; // a reader that closes, and its engine for what comes then, do not wait for each other
            }
            if (total < allowed) {
                throw new VbnException(VbnStatus.PROTOCOL, "credit that goes back from " + allowed + " to " + total);
            }
            if (opener && window == 0) {
                window = total;
                owner.firstCredit(total);
            }
            allowed = total;
            accepted = true;
            while (!slots.isEmpty() && slots.peek().end() <= total - window) {
                slots.poll().give();
            }
            if (!closed || !slots.isEmpty()) {
                return;
            }
        }
        owner.settle(this);
    }

    private void finished(StreamFrame frame) throws VbnException {
        input.end(frame.value());
        if ((frame.flags() & StreamFrame.FLAG_NO_READ) != 0) {
            synchronized (this) {
                accepted = true;
                readerGone = true;
            }
        }
    }

    /** Protocol violation: the other side learns it. */
    void violated(VbnException cause) {
        if (fail(cause)) {
            control(StreamFrame.RESET, 0, StreamFrame.REASON_PROTOCOL);
        }
    }

    /** True when it had not failed before. */
    boolean fail(VbnException cause) {
        synchronized (this) {
            if (failure != null) {
                return false;
            }
            failure = cause;
        }
        changed();
        return true;
    }

    synchronized void checkFailure() throws VbnException {
        if (failure != null) {
            throw failed();
        }
    }

    private VbnException failed() {
        return new VbnException(failure.kind(), "stream to " + peer() + ": " + failure.text(), failure);
    }

    void changed() {
        StreamListener told = listener;
        if (told != null) {
            told.changed(this);
        }
    }

    @Override
    public String toString() {
        return "stream " + Integer.toUnsignedString(number) + (opener ? " to " : " from ") + peer();
    }
}
