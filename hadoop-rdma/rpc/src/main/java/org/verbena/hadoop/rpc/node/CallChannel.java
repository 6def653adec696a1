// SPDX-License-Identifier: Apache-2.0
// The server's end of a stream, as the socket channel that Hadoop's RPC server reads requests from and writes answers to.
package org.verbena.hadoop.rpc.node;

import java.io.IOException;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.nio.ByteBuffer;
import java.nio.channels.ClosedChannelException;
import java.util.ArrayDeque;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.Consumer;
import org.verbena.core.VbnException;
import org.verbena.core.VbnStatus;
import org.verbena.core.stream.StreamChannel;
import org.verbena.core.stream.VbnStream;

/**
 * Non-blocking. A write takes everything: Hadoop's responder waits for the rest of a partial write in a selector of sockets, which
 * takes no streams. What the client has no window for is kept here, and while that is much nothing more is read of this client:
 * its unread requests then fill its own window, so that what is kept stays bounded by the answers to requests that were read.
 *
 * <p>One thread at a time serves a channel: whoever takes it from the queue of those that are ready, until {@link #served}.
 */
public final class CallChannel extends StreamChannel {
    /** While more than this is kept, no further request is read. */
    public static final int KEPT_MAX = 1 << 20;

    private final Socket socket;
    private final AtomicBoolean scheduled = new AtomicBoolean();
    private volatile Consumer<CallChannel> whenReady;
    private volatile Object user;
    // Guarded by kept:
    private final ArrayDeque<ByteBuffer> kept = new ArrayDeque<>();
    private volatile long keptBytes;
    private volatile long keptSince;

    /**
     * Takes a stream that is accepted; close ends it.
     *
     * @param stream the stream
     * @param local the server's address
     * @param remote the client's
     */
    public CallChannel(VbnStream stream, InetSocketAddress local, InetSocketAddress remote) throws IOException {
        super(null, stream, local, remote);
        this.socket = new StreamSocket(local, remote, null, null, this);
    }

    /**
     * From now on tells when there is something to do, or the end; once, until {@link #served}.
     *
     * @param user what {@link #user} gives
     * @param ready runs on whatever thread drives the engine, and must not block
     */
    public void open(Object user, Consumer<CallChannel> ready) {
        this.user = user;
        this.whenReady = ready;
        stream.onChange(changed -> tellIfReady());
    }

    /** Returns whose channel it is. */
    public Object user() {
        return user;
    }

    private void tellIfReady() {
        if (isReady() && scheduled.compareAndSet(false, true)) {
            whenReady.accept(this);
        }
    }

    private boolean isReady() {
        return isOpen() && (stream.failure() != null || keptBytes <= KEPT_MAX && stream.isReadable()
            || keptBytes > 0 && stream.isWritable());
    }

    /** Whether a request may be read now: the client reads its answers. */
    public boolean takesRequests() {
        return stream.failure() != null || keptBytes <= KEPT_MAX;
    }

    /** Who was told has read what it wanted: tells again when there is more. */
    public void served() {
        scheduled.set(false);
        tellIfReady();
    }

    /** Returns bytes of answers that the client has no window for. */
    public long kept() {
        return keptBytes;
    }

    /** Returns since when there were some all the time, by System.nanoTime; only while {@link #kept} is not 0. */
    public long keptSince() {
        return keptSince;
    }

    @Override
    public int read(ByteBuffer destination) throws IOException {
        checkOpen();
        try {
            return stream.read(destination);
        } catch (VbnException e) {
            if (e.kind() == VbnStatus.PEER_LOST) {
                return -1; // as of a socket whose process has ended
            }
            throw reset(e);
        }
    }

    @Override
    public long read(ByteBuffer[] destinations, int offset, int length) {
        throw new UnsupportedOperationException("Hadoop's server reads into one buffer");
    }

    /** Of several threads one at a time: Hadoop's server holds a lock of the connection. */
    @Override
    public int write(ByteBuffer source) throws IOException {
        checkOpen();
        int length = source.remaining();
        try {
            if (keptBytes == 0) {
                stream.write(source);
            }
            if (source.hasRemaining()) {
                keep(source);
                sendKept();
            }
        } catch (VbnException e) {
            throw reset(e);
        }
        return length;
    }

    private void keep(ByteBuffer rest) {
        ByteBuffer copy = ByteBuffer.allocate(rest.remaining()).put(rest).flip();
        synchronized (kept) {
            if (keptBytes == 0) {
                keptSince = System.nanoTime();
            }
            kept.add(copy);
            keptBytes += copy.remaining();
        }
    }

    /**
     * Sends what is kept, as much as the client has a window for. Not in a callback of the engine, whose messages would overtake
     * those that other threads have submitted before.
     *
     * @throws VbnException when the stream has failed
     */
    public void sendKept() throws VbnException {
        synchronized (kept) {
            while (!kept.isEmpty()) {
                int count = stream.write(kept.peek());
                if (count == 0) {
                    return;
                }
                keptBytes -= count;
                keptSince = System.nanoTime();
                if (!kept.peek().hasRemaining()) {
                    kept.remove();
                }
            }
        }
    }

    @Override
    public long write(ByteBuffer[] sources, int offset, int length) {
        throw new UnsupportedOperationException("Hadoop's server writes one buffer");
    }

    private void checkOpen() throws ClosedChannelException {
        if (!isOpen()) {
            throw new ClosedChannelException();
        }
    }

    private static IOException reset(VbnException cause) {
        return new IOException("Connection reset: " + cause.getMessage(), cause);
    }

    @Override
    protected void implCloseSelectableChannel() {
        synchronized (kept) {
            kept.clear();
            keptBytes = 0;
        }
        stream.close();
    }

    @Override
    protected void implConfigureBlocking(boolean block) {
        // it never blocks
    }

    @Override
    public Socket socket() {
        return socket;
    }
}
