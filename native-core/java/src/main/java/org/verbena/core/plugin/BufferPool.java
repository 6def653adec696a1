// SPDX-License-Identifier: Apache-2.0
// Direct buffers that are used again.
package org.verbena.core.plugin;

import java.nio.ByteBuffer;
import java.util.ArrayDeque;
import java.util.Comparator;
import java.util.Iterator;
import java.util.TreeMap;
import org.verbena.core.VbnMemory;

/**
 * Sizes from 4 KiB to 16 MiB in steps of a quarter or less; larger ones are not kept. Keeps at most a bound of bytes. The pages of
 * a buffer that is not kept any more go back to the system at once; the JVM counts the buffer until it collects it. Thread safe.
 */
public final class BufferPool {
    private static final int MIN = 4 << 10;
    private static final int MAX = 16 << 20;
    /** By capacity, the largest first. */
    private final TreeMap<Integer, ArrayDeque<ByteBuffer>> free = new TreeMap<>(Comparator.reverseOrder());
    private final long maxKept;
    private long kept;

    /**
     * Makes an empty pool.
     *
     * @param maxKept most bytes of buffers that are kept for the next user
     */
    public BufferPool(long maxKept) {
        this.maxKept = maxKept;
    }

    /**
     * Takes a buffer, a kept one or a new one.
     *
     * @param bytes its limit; position 0, arbitrary content
     * @return a direct buffer, to be given back once
     * @throws OutOfMemoryError when the JVM has no direct memory left (-XX:MaxDirectMemorySize)
     */
    public ByteBuffer take(int bytes) {
        ByteBuffer found = poll(bytes);
        if (found == null) {
            found = ByteBuffer.allocateDirect(size(bytes));
        }
        return found.clear().limit(bytes);
    }

    /** A kept buffer, or null when there is none of that size. */
    synchronized ByteBuffer poll(int bytes) {
        int capacity = size(bytes);
        ArrayDeque<ByteBuffer> list = free.get(capacity);
        ByteBuffer found = list == null ? null : list.poll();
        kept -= found == null ? 0 : capacity;
        return found == null ? null : found.clear().limit(bytes);
    }

    /** Bytes of buffers that are kept now. */
    synchronized long kept() {
        return kept;
    }

    /** Lets go of so many bytes of what is kept, or all if there are fewer; large buffers first. */
    synchronized void drop(long bytes) {
        long left = bytes;
        for (Iterator<ArrayDeque<ByteBuffer>> lists = free.values().iterator(); left > 0 && lists.hasNext();) {
            ArrayDeque<ByteBuffer> list = lists.next();
            while (left > 0 && !list.isEmpty()) {
                ByteBuffer buffer = list.poll();
                kept -= buffer.capacity();
                left -= buffer.capacity();
                VbnMemory.discard(buffer);
            }
        }
    }

    /**
     * Returns the capacity of the buffer that {@link #take} gives.
     *
     * @param bytes what is asked for
     */
    public static int size(int bytes) {
        return bytes > MAX ? bytes : capacity(bytes);
    }

    /**
     * Gives a buffer back that nobody uses any more.
     *
     * @param buffer what {@link #take} returned, or a duplicate of it
     */
    public synchronized void give(ByteBuffer buffer) {
        int capacity = buffer.capacity();
        if (capacity <= MAX && capacity == capacity(capacity) && kept + capacity <= maxKept) {
            kept += capacity;
            free.computeIfAbsent(capacity, size -> new ArrayDeque<>()).push(buffer);
        } else {
            VbnMemory.discard(buffer);
        }
    }

    /** The largest capacity of at most so many bytes; 0: none is as small. */
    static int floor(long bytes) {
        if (bytes < MIN) {
            return 0;
        }
        int most = (int) Math.min(bytes, MAX);
        int step = Integer.highestOneBit(most) >> 2;
        return most / step * step;
    }

    /** The smallest size for so many bytes: a power of two, or one and a quarter, a half, three quarters of one. */
    static int capacity(int bytes) {
        if (bytes <= MIN) {
            return MIN;
        }
        int step = Integer.highestOneBit(bytes - 1) >> 2;
        return (bytes + step - 1) / step * step;
    }
}
