// SPDX-License-Identifier: Apache-2.0
package org.verbena.core.stream;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
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
    private final StreamOutput output;
    private volatile StreamListener listener;
    // Guarded by this:
    private Object attachment;
    private VbnException failure;
    private boolean accepted;
    private boolean refused;
    private boolean closed;

    VbnStream(VbnStreams streams, PeerStreams owner, int number, boolean opener, long allowed) {
        this.streams = streams;
        this.owner = owner;
        this.number = number;
        this.opener = opener;
        this.accepted = !opener;
        this.input = new StreamInput(streams.engine(), streams.memory().share(StreamInput.least(streams.limits().piece())),
            streams.limits().window(), this::changed, this::violated);
        this.output = new StreamOutput(this, streams, owner, allowed);
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
    public long sent() {
        return output.sent();
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

    /**
     * Returns bytes that are there where they lie, without a copy; they end where a piece of what was sent ends. They stay
     * until {@link #skip}, also after {@link #close}. A sender of this host that does not keep the rules can still change them.
     *
     * @return a read-only direct buffer, from 0 to its limit; null when nothing is there yet, and where {@link #read} tells more
     */
    public ByteBuffer look() {
        return look(0);
    }

    /**
     * As {@link #look()}, of the bytes behind those that were looked at before: several pieces stay until {@link #skip}.
     *
     * @param ahead how many bytes from the first unread one on to pass over; the caller has looked at all of them
     * @return a read-only direct buffer, from 0 to its limit; null when nothing is there yet, and where {@link #read} tells more
     */
    public ByteBuffer look(int ahead) {
        return input.look(ahead);
    }

    /**
     * Ends what all calls of {@link #look} since the last skip have begun; without it the same thread reads no more.
     *
     * @param count how many of the bytes are read, from the first unread one on
     */
    public void skip(int count) {
        input.skip(count);
        sendCredit();
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
     * @return bytes written, 0 when the window is full, the stream is not yet accepted, or there is no memory
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
     * @return bytes written, 0 when the window is full, the stream is not yet accepted, or there is no memory
     * @throws VbnException when the stream has failed, or its output was ended
     */
    public long write(ByteBuffer[] sources, int count) throws VbnException {
        return output.write(sources, count);
    }

    /**
     * Writes bytes of a file, read straight into what is sent: at most one message, and what the other side's window takes.
     *
     * @param file the file, opened for reading; its position stays
     * @param position the first byte in the file
     * @param count most bytes, more than 0
     * @return bytes written, 0 when the window is full, the stream is not yet accepted, or there is no memory
     * @throws java.io.EOFException when the file has nothing at the position
     * @throws IOException when the file cannot be read; the stream is as before
     * @throws VbnException when the stream has failed, or its output was ended
     */
    public int transferFrom(FileChannel file, long position, int count) throws IOException {
        return output.transferFrom(file, position, count);
    }

    /** Returns how many bytes {@link #write} takes now at least; only the thread that writes makes them fewer. */
    public long space() {
        return failure() != null ? 0 : output.space();
    }

    /** True when {@link #write} takes bytes or throws. */
    public boolean isWritable() {
        return failure() != null || output.isWritable();
    }

    /** Ends the output: the other side reads -1 after what was written. Idempotent. */
    public void endOutput() {
        output.end(0);
    }

    /**
     * Ends the output and reads no more; what was written before, and what another thread is writing, is still delivered.
     * Idempotent.
     */
    @Override
    public void close() {
        synchronized (this) {
            if (closed) {
                return;
            }
            closed = true;
        }
        output.end(StreamFrame.FLAG_NO_READ);
        owner.forget(this);
        input.close();
        output.close();
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

    StreamFrame frame(int type, int flags, long value) {
        return new StreamFrame(type, flags | (opener ? StreamFrame.FLAG_OPENER : 0), number, value);
    }

    void control(int type, int flags, long value) {
        streams.send(peer(), frame(type, flags, value).encode(), null, (error, bytes) -> failIf(error));
    }

    void failIf(VbnException error) {
        if (error != null) {
            fail(error);
        }
    }

    int number() {
        return number;
    }

    boolean isOpener() {
        return opener;
    }

    synchronized boolean isClosed() {
        return closed;
    }

    /** True while the other side may still read from memory that we lend. */
    boolean hasSlots() {
        return output.hasSlots();
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
        output.close();
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
        output.credit(total);
        synchronized (this) {
            accepted = true;
        }
        if (isClosed() && !output.hasSlots()) {
            owner.settle(this);
        }
    }

    private void finished(StreamFrame frame) throws VbnException {
        if ((frame.flags() & StreamFrame.FLAG_NO_READ) != 0) {
            output.readerGone(); // before the end can be read: who has read it writes in vain
            synchronized (this) {
                accepted = true;
            }
        }
        input.end(frame.value());
    }

    /** Protocol violation, or no memory: the other side learns it. */
    void violated(VbnException cause) {
        if (fail(cause)) {
            control(StreamFrame.RESET, 0,
                cause.kind() == VbnStatus.PROTOCOL ? StreamFrame.REASON_PROTOCOL : StreamFrame.REASON_FAILED);
        }
    }

    /** Something here threw, at a frame or in the listener: the stream has lost bytes or a wake-up, and both sides learn it. */
    void broken(Throwable cause) {
        if (fail(new VbnException(VbnStatus.CLOSED, "the stream has failed here: " + cause))) {
            control(StreamFrame.RESET, 0, StreamFrame.REASON_FAILED);
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

    /** Whatever the listener throws concerns this stream alone: who calls goes on with others. */
    void changed() {
        StreamListener told = listener;
        if (told == null) {
            return;
        }
        try {
            told.changed(this);
        } catch (RuntimeException | Error e) {
            broken(e);
            streams.report(e);
        }
    }

    @Override
    public String toString() {
        return "stream " + Integer.toUnsignedString(number) + (opener ? " to " : " from ") + peer();
    }
}
