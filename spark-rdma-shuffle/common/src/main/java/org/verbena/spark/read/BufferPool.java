// SPDX-License-Identifier: Apache-2.0
// Direct buffers that are used again.
package org.verbena.spark.read;

import java.nio.ByteBuffer;
import java.util.ArrayDeque;

/** Power-of-two sizes from 4 KiB to 16 MiB; larger ones are not kept. Keeps at most a bound of bytes. Thread safe. */
final class BufferPool {
    private static final int MIN_BITS = 12;
    private static final int MAX_BITS = 24;
    private final ArrayDeque<?>[] free = new ArrayDeque<?>[MAX_BITS + 1];
    private final long maxKept;
    private long kept;

    BufferPool(long maxKept) {
        this.maxKept = maxKept;
        for (int i = 0; i < free.length; i++) {
            free[i] = new ArrayDeque<ByteBuffer>();
        }
    }

    /** A buffer with position 0 and limit `bytes`; its content is arbitrary. */
    synchronized ByteBuffer take(int bytes) {
        int bits = bits(bytes);
        if (bits > MAX_BITS) {
            return ByteBuffer.allocateDirect(bytes);
        }
        ByteBuffer found = (ByteBuffer) free[bits].poll();
        if (found == null) {
            found = ByteBuffer.allocateDirect(1 << bits);
        } else {
            kept -= found.capacity();
        }
        return found.clear().limit(bytes);
    }

    /** Gives a buffer back that nobody uses any more. */
    synchronized void give(ByteBuffer buffer) {
        int capacity = buffer.capacity();
        if (capacity <= 1 << MAX_BITS && Integer.bitCount(capacity) == 1 && kept + capacity <= maxKept) {
            kept += capacity;
            @SuppressWarnings("unchecked")
            ArrayDeque<ByteBuffer> list = (ArrayDeque<ByteBuffer>) free[bits(capacity)];
            list.push(buffer);
        }
    }

    private static int bits(int bytes) {
        return Math.max(MIN_BITS, 32 - Integer.numberOfLeadingZeros(Math.max(1, bytes) - 1));
    }
}
