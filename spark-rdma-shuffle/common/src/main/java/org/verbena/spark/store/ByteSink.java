// SPDX-License-Identifier: Apache-2.0
// Collects small writes in a heap buffer.
package org.verbena.spark.store;

import java.io.IOException;
import java.io.OutputStream;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.Arrays;

/** An output stream that takes fields of records without a call per byte. Belongs to one thread. */
public abstract class ByteSink extends OutputStream {
    private static final VarHandle INT = MethodHandles.byteArrayViewVarHandle(int[].class, ByteOrder.BIG_ENDIAN);
    private static final VarHandle LONG = MethodHandles.byteArrayViewVarHandle(long[].class, ByteOrder.BIG_ENDIAN);
    private static final int SMALLEST = 256;
    private static final byte[] EMPTY = new byte[0];

    private final int largest;
    private byte[] buffer = EMPTY;
    private int filled;

    /**
     * Makes an empty sink.
     *
     * @param largest size in bytes to which the buffer grows before it is emptied, a power of two from 256
     */
    protected ByteSink(int largest) {
        this.largest = largest;
    }

    /** Takes bytes out of the buffer; they must be copied before it returns. */
    protected abstract void drain(byte[] from, int offset, int count) throws IOException;

    /** Bytes in the buffer. */
    protected final int buffered() {
        return filled;
    }

    /** A view of what is in the buffer, until the next write. */
    protected final ByteBuffer rest() {
        return ByteBuffer.wrap(buffer, 0, filled);
    }

    /** Takes what is in the buffer. */
    protected final void drainAll() throws IOException {
        if (filled > 0) {
            int count = filled;
            filled = 0;
            drain(buffer, 0, count);
        }
    }

    /** Moves what is in the buffer to an array that has space for it. */
    protected final void moveTo(byte[] to, int offset) {
        System.arraycopy(buffer, 0, to, offset, filled);
        filled = 0;
    }

    /** Lets an empty buffer's memory go, until the next write. */
    protected final void shrink() {
        buffer = filled == 0 ? EMPTY : buffer;
    }

    /** Makes space for a few bytes, at most 256. */
    private void ensure(int count) throws IOException {
        if (buffer.length - filled < count) {
            makeSpace(count);
        }
    }

    private void makeSpace(int count) throws IOException {
        if (buffer.length < largest) {
            int size = Math.max(buffer.length, SMALLEST);
            while (size < largest && size - filled < count) {
                size *= 2;
            }
            buffer = Arrays.copyOf(buffer, size);
        }
        if (buffer.length - filled < count) {
            drainAll();
        }
    }

    @Override
    public final void write(int value) throws IOException {
        ensure(1);
        buffer[filled++] = (byte) value;
    }

    /** Writes four bytes, highest first. */
    public final void writeInt(int value) throws IOException {
        ensure(4);
        INT.set(buffer, filled, value);
        filled += 4;
    }

    /** Writes eight bytes, highest first. */
    public final void writeLong(long value) throws IOException {
        ensure(8);
        LONG.set(buffer, filled, value);
        filled += 8;
    }

    /** Writes one byte and four bytes, highest first. */
    public final void writeTagged(int tag, int value) throws IOException {
        ensure(5);
        buffer[filled] = (byte) tag;
        INT.set(buffer, filled + 1, value);
        filled += 5;
    }

    /** Writes one byte and eight bytes, highest first. */
    public final void writeTagged(int tag, long value) throws IOException {
        ensure(9);
        buffer[filled] = (byte) tag;
        LONG.set(buffer, filled + 1, value);
        filled += 9;
    }

    @Override
    public final void write(byte[] from, int offset, int count) throws IOException {
        if (buffer.length - filled < count) {
            makeSpace(count);
        }
        if (buffer.length - filled >= count) {
            System.arraycopy(from, offset, buffer, filled, count);
            filled += count;
        } else {
            drain(from, offset, count);
        }
    }
}
