// SPDX-License-Identifier: Apache-2.0
package org.verbena.core.stream;

import java.io.IOException;
import java.io.InterruptedIOException;
import java.net.SocketTimeoutException;
import java.nio.ByteBuffer;
import java.nio.channels.ByteChannel;
import java.nio.channels.ClosedChannelException;
import java.util.concurrent.TimeUnit;
import java.util.function.BooleanSupplier;

/**
 * A stream whose reads and writes wait, as a blocking socket's do. One thread at a time reads and one writes; close may come
 * from any, and wakes both. An interrupt closes the stream, as it does an interruptible channel.
 */
public final class BlockingStream implements ByteChannel {
    /** Longest sleep at a time: an interrupt does not end that of a thread that drives the engine meanwhile. */
    private static final long LONG_NANOS = 100_000_000;

    private final VbnStream stream;
    private volatile Thread reader;
    private volatile Thread writer;
    private volatile boolean closed;
    private volatile long readTimeoutMillis;
    private volatile long writeTimeoutMillis;

    /**
     * Takes a stream, whose listener it becomes.
     *
     * @param stream the stream, closed by {@link #close}
     */
    public BlockingStream(VbnStream stream) {
        this.stream = stream;
        stream.onChange(changed -> wake());
    }

    private void wake() {
        Thread one = reader;
        if (one != null && (closed || stream.isReadable())) {
            stream.engine().unpark(one);
        }
        Thread other = writer;
        if (other != null && (closed || stream.isWritable() || stream.isAccepted())) {
            stream.engine().unpark(other);
        }
    }

    /** Returns the stream below. */
    public VbnStream stream() {
        return stream;
    }

    /**
     * Sets how long a read waits for the first byte.
     *
     * @param millis milliseconds; 0: for ever
     */
    public void readTimeout(long millis) {
        readTimeoutMillis = millis;
    }

    /**
     * Sets how long a write waits for space in the other side's window.
     *
     * @param millis milliseconds; 0: for ever
     */
    public void writeTimeout(long millis) {
        writeTimeoutMillis = millis;
    }

    /**
     * Waits until the other side has accepted the stream.
     *
     * @param millis milliseconds, more than 0
     * @throws SocketTimeoutException when it has not within that time; the stream is as before
     * @throws IOException when it refused, or is lost
     */
    public void awaitAccepted(long millis) throws IOException {
        writer = Thread.currentThread();
        try {
            await(() -> stream.isAccepted() || stream.failure() != null, millis, "its acceptance");
        } finally {
            writer = null;
        }
        stream.checkFailure();
    }

    /**
     * Reads at least a byte.
     *
     * @param destination any buffer
     * @return bytes read, -1 at the end of the stream
     * @throws SocketTimeoutException when nothing came in time; the stream is as before
     * @throws IOException when the stream has failed or is closed here
     */
    @Override
    public int read(ByteBuffer destination) throws IOException {
        if (!destination.hasRemaining()) {
            return 0;
        }
        reader = Thread.currentThread();
        try {
            while (true) {
                checkOpen();
                int count = stream.read(destination);
                if (count != 0) {
                    checkOpen();
                    return count;
                }
                await(stream::isReadable, readTimeoutMillis, "data");
            }
        } finally {
            reader = null;
        }
    }

    /**
     * Writes all.
     *
     * @param source any buffer
     * @return the bytes that were remaining
     * @throws SocketTimeoutException when the window was full for too long; the rest is not written
     * @throws IOException when the stream has failed or is closed
     */
    @Override
    public int write(ByteBuffer source) throws IOException {
        int total = source.remaining();
        writer = Thread.currentThread();
        try {
            while (source.hasRemaining()) {
                checkOpen();
                if (stream.write(source) == 0) {
                    await(stream::isWritable, writeTimeoutMillis, "space in the reader's window");
                }
            }
            return total;
        } finally {
            writer = null;
        }
    }

    private void checkOpen() throws ClosedChannelException {
        if (closed) {
            throw new ClosedChannelException();
        }
    }

    /** Parks until the condition holds or the stream is closed here. */
    private void await(BooleanSupplier condition, long millis, String what) throws IOException {
        long deadline = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(millis);
        while (!condition.getAsBoolean() && !closed) {
            long left = deadline - System.nanoTime();
            if (millis > 0 && left <= 0) {
                throw new SocketTimeoutException(millis + " ms have passed without " + what + ": " + stream);
            }
            stream.engine().park(() -> closed || condition.getAsBoolean(), Math.min(millis > 0 ? left : LONG_NANOS, LONG_NANOS));
            if (Thread.interrupted()) {
                Thread.currentThread().interrupt();
                close();
                throw new InterruptedIOException("interrupted while it waited for " + what + ": " + stream);
            }
        }
    }

    /** Ends the output: the other side reads to the end of what was written. */
    public void endOutput() {
        stream.endOutput();
    }

    @Override
    public boolean isOpen() {
        return !closed;
    }

    /** Closes the stream; threads that read or write get a {@link ClosedChannelException}. Idempotent. */
    @Override
    public void close() {
        closed = true;
        stream.close();
        wake();
    }

    @Override
    public String toString() {
        return stream.toString();
    }
}
