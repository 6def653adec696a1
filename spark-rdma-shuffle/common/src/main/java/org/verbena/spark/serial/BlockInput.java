// SPDX-License-Identifier: Apache-2.0
// Reads fields of records out of a shuffle block in large steps.
package org.verbena.spark.serial;

import java.io.EOFException;
import java.io.IOException;
import java.io.InputStream;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.nio.ByteOrder;
import java.util.Arrays;

/**
 * Buffers one block after the other; the buffers are used again. What {@link #take} returned stays valid until the
 * second next refill, because refills change between two buffers. Belongs to one thread.
 */
final class BlockInput {
    private static final VarHandle INT = MethodHandles.byteArrayViewVarHandle(int[].class, ByteOrder.BIG_ENDIAN);
    private static final VarHandle LONG = MethodHandles.byteArrayViewVarHandle(long[].class, ByteOrder.BIG_ENDIAN);
    private static final int SMALLEST = 1 << 10;
    private static final int LARGEST = 32 << 10;
    /** A length from outside is believed up to here, beyond it memory is taken as bytes arrive. */
    private static final int BELIEVED = 1 << 20;

    /** Keeps the buffers of the block that was read last for the next one. Belongs to one thread. */
    static final class Spare {
        private BlockInput idle;

        BlockInput open(InputStream block) {
            BlockInput input = idle == null ? new BlockInput() : idle;
            idle = null;
            input.in = block;
            return input;
        }

        void close(BlockInput input) throws IOException {
            InputStream last = input.in;
            if (last != null) {
                input.in = null;
                input.at = 0;
                input.filled = 0;
                idle = input;
                last.close();
            }
        }
    }

    private InputStream in;
    private byte[] buffer = new byte[0];
    private byte[] other = new byte[0];
    private int at;
    private int filled;

    /** Whether the block has more bytes. */
    boolean more() throws IOException {
        return at < filled || refill(1);
    }

    /** Brings at least so many bytes together; false when the block ends before. */
    private boolean refill(int count) throws IOException {
        if (in == null) {
            return false;
        }
        int rest = filled - at;
        int wanted = Math.max(count, Math.min(LARGEST, Math.max(SMALLEST, rest + in.available())));
        byte[] next = other.length >= wanted ? other : new byte[wanted];
        System.arraycopy(buffer, at, next, 0, rest);
        other = buffer;
        buffer = next;
        at = 0;
        filled = rest;
        while (filled < count) {
            int n = in.read(buffer, filled, buffer.length - filled);
            if (n < 0) {
                return false;
            }
            filled += n;
        }
        return true;
    }

    private void need(int count) throws IOException {
        if (filled - at < count && !refill(count)) {
            throw new EOFException("a shuffle block ends inside a record: " + count + " bytes expected, "
                + (filled - at) + " left");
        }
    }

    int readByte() throws IOException {
        need(1);
        return buffer[at++];
    }

    int readInt() throws IOException {
        need(4);
        int value = (int) INT.get(buffer, at);
        at += 4;
        return value;
    }

    long readLong() throws IOException {
        need(8);
        long value = (long) LONG.get(buffer, at);
        at += 8;
        return value;
    }

    /** Reads a length that was written with {@code writeInt}. */
    int readLength() throws IOException {
        int length = readInt();
        if (length < 0) {
            throw new IOException("a shuffle block is damaged: length " + length);
        }
        return length;
    }

    /**
     * Steps over bytes that lie together in {@link #buffer}.
     *
     * @return where they begin
     */
    int take(int count) throws IOException {
        if (count > Math.max(buffer.length, BELIEVED) && filled - at < count) {
            byte[] all = readFully(count);
            buffer = all;
            filled = count;
            at = 0;
        } else {
            need(count);
        }
        int begin = at;
        at += count;
        return begin;
    }

    /** Holds what {@link #take} returned last. */
    byte[] buffer() {
        return buffer;
    }

    /** Reads so many bytes into an array of their own. */
    byte[] readFully(int count) throws IOException {
        int have = Math.min(count, filled - at);
        if (count > BELIEVED && in != null) {
            byte[] rest = in.readNBytes(count - have);
            if (rest.length < count - have) {
                throw new EOFException("a shuffle block ends inside a value of " + count + " bytes");
            }
            byte[] all = new byte[count];
            System.arraycopy(buffer, at, all, 0, have);
            System.arraycopy(rest, 0, all, have, rest.length);
            at += have;
            return all;
        }
        if (have == count || count <= LARGEST) {
            int begin = take(count);
            return Arrays.copyOfRange(buffer, begin, begin + count);
        }
        byte[] all = new byte[count];
        System.arraycopy(buffer, at, all, 0, have);
        at += have;
        int n = in == null ? 0 : in.readNBytes(all, have, count - have);
        if (n < count - have) {
            throw new EOFException("a shuffle block ends inside a value of " + count + " bytes");
        }
        return all;
    }
}
