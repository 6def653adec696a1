// SPDX-License-Identifier: Apache-2.0
// The client's end of a stream: blocking bytes for Hadoop's classes, and a wait for an answer that an interrupt may end.
package org.verbena.hadoop.rpc.node;

import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.net.InetSocketAddress;
import java.net.SocketException;
import java.net.SocketTimeoutException;
import java.nio.ByteBuffer;
import java.nio.channels.ClosedChannelException;
import java.util.concurrent.TimeUnit;
import java.util.function.BooleanSupplier;
import org.verbena.core.VbnException;
import org.verbena.core.VbnPeer;
import org.verbena.core.VbnStatus;
import org.verbena.core.stream.VbnStream;

/**
 * Waits drive the engine. One thread reads and one writes at a time. The input never gives bytes of two frames in one read, so
 * that a buffer above it holds nothing when a frame was read whole, and {@link #awaitAnswer} tells the truth.
 */
public final class CallStream {
    /** Longest sleep at a time: an interrupt does not end that of a thread that drives the engine. */
    private static final long SLEEP_NANOS = 100_000_000;

    private final VbnStream stream;
    private final StreamSocket socket;
    private volatile Thread reader;
    private volatile Thread writer;
    private volatile boolean closed;
    private volatile boolean abandoned;
    private volatile long limitMillis;

    CallStream(VbnStream stream, InetSocketAddress local, InetSocketAddress remote) throws SocketException {
        this.stream = stream;
        this.socket = new StreamSocket(local, remote, new Frames(), new Output(), this::close);
        stream.onChange(changed -> wake());
    }

    private void wake() {
        Thread one = reader;
        if (one != null && isReadable()) {
            stream.engine().unpark(one);
        }
        Thread other = writer;
        if (other != null && (closed || isWritable())) {
            stream.engine().unpark(other);
        }
    }

    /** Returns it as a socket. */
    public StreamSocket socket() {
        return socket;
    }

    /**
     * Sets how long a read or write waits within a frame.
     *
     * @param millis milliseconds; 0: for ever
     */
    public void limit(long millis) {
        limitMillis = millis;
    }

    /**
     * Waits until something can be read, the end of the stream also counting, or the time is over.
     *
     * @param enough ends the wait when it gives true; who changes that calls {@link #wakeReader}
     * @param nanos longest wait
     * @return whether something can be read
     * @throws InterruptedException when the thread is interrupted and nothing can be read; the stream is as before
     */
    public boolean awaitAnswer(BooleanSupplier enough, long nanos) throws InterruptedException {
        long end = System.nanoTime() + nanos;
        reader = Thread.currentThread();
        try {
            while (!isReadable() && !enough.getAsBoolean()) {
                long left = end - System.nanoTime();
                if (left <= 0) {
                    return false;
                }
                stream.engine().park(() -> isReadable() || enough.getAsBoolean(), Math.min(left, SLEEP_NANOS));
                if (!isReadable() && Thread.interrupted()) {
                    throw new InterruptedException();
                }
            }
            return isReadable();
        } finally {
            reader = null;
        }
    }

    /** Ends the wait of the reader, if there is one. */
    public void wakeReader() {
        Thread one = reader;
        if (one != null) {
            stream.engine().unpark(one);
        }
    }

    private boolean isReadable() {
        return closed || abandoned || stream.isReadable();
    }

    private boolean isWritable() {
        return abandoned || stream.isWritable();
    }

    /** Returns whether the server has not taken the stream, and read nothing of it. */
    public boolean isRefused() {
        return stream.isRefused();
    }

    /** Returns whether it goes by this connection. */
    boolean isOf(VbnPeer peer) {
        return stream.peer() == peer;
    }

    /** This side gives up the connection below: nothing comes any more, as from a socket whose process has ended. */
    void abandon() {
        abandoned = true;
        wake();
    }

    /** Closes the stream; who waits for it hears of that. Idempotent. */
    public void close() {
        closed = true;
        stream.close();
        wake();
    }

    /** Parks until the condition holds; an interrupt is left to the caller, because half a frame is worse than a late answer. */
    private void await(BooleanSupplier condition, String what) throws IOException {
        long begun = System.nanoTime();
        boolean interrupted = false;
        try {
            while (!closed && !condition.getAsBoolean()) {
                long limit = limitMillis;
                if (limit > 0 && System.nanoTime() - begun > TimeUnit.MILLISECONDS.toNanos(limit)) {
                    throw new SocketTimeoutException(limit + " millis timeout while waiting for " + what + ": " + socket);
                }
                stream.engine().park(() -> closed || condition.getAsBoolean(), SLEEP_NANOS);
                interrupted |= Thread.interrupted();
            }
        } finally {
            if (interrupted) {
                Thread.currentThread().interrupt();
            }
        }
    }

    private void checkOpen() throws ClosedChannelException {
        if (closed) {
            throw new ClosedChannelException();
        }
    }

    private static IOException reset(VbnException cause) {
        return new IOException("Connection reset: " + cause.getMessage(), cause);
    }

    private int readSome(ByteBuffer destination) throws IOException {
        reader = Thread.currentThread();
        try {
            while (true) {
                checkOpen();
                int count = stream.read(destination);
                if (count != 0) {
                    return count;
                }
                if (abandoned) {
                    return -1;
                }
                await(this::isReadable, "an answer");
            }
        } catch (VbnException e) {
            if (e.kind() == VbnStatus.PEER_LOST) {
                return -1; // as of a socket whose process has ended
            }
            throw reset(e);
        } finally {
            reader = null;
        }
    }

    /** What comes, cut at the ends of frames: a length of four bytes, and so many more. */
    private final class Frames extends InputStream {
        private int lengthLeft = Integer.BYTES;
        private int length;
        private int left;

        @Override
        public int read() throws IOException {
            byte[] one = new byte[1];
            return read(one, 0, 1) < 0 ? -1 : Byte.toUnsignedInt(one[0]);
        }

        @Override
        public int read(byte[] bytes, int offset, int count) throws IOException {
            if (count == 0) {
                return 0;
            }
            boolean head = left == 0;
            int got = readSome(ByteBuffer.wrap(bytes, offset, Math.min(count, head ? lengthLeft : left)));
            if (got < 0) {
                return got;
            }
            if (!head) {
                left -= got;
                return got;
            }
            for (int i = offset; i < offset + got; i++) {
                length = length << Byte.SIZE | Byte.toUnsignedInt(bytes[i]);
            }
            lengthLeft -= got;
            if (lengthLeft == 0) {
                left = Math.max(0, length); // a negative one is refused above
                lengthLeft = Integer.BYTES;
                length = 0;
            }
            return got;
        }
    }

    private final class Output extends OutputStream {
        @Override
        public void write(int one) throws IOException {
            write(new byte[] {(byte) one}, 0, 1);
        }

        @Override
        public void write(byte[] bytes, int offset, int count) throws IOException {
            ByteBuffer source = ByteBuffer.wrap(bytes, offset, count);
            writer = Thread.currentThread();
            try {
                while (source.hasRemaining()) {
                    checkOpen();
                    if (abandoned) {
                        throw new IOException("Connection reset: this side has given it up");
                    }
                    if (stream.write(source) == 0) {
                        await(CallStream.this::isWritable, "space for a request");
                    }
                }
            } catch (VbnException e) {
                throw reset(e);
            } finally {
                writer = null;
            }
        }
    }
}
