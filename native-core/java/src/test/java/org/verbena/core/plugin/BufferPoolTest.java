// SPDX-License-Identifier: Apache-2.0
package org.verbena.core.plugin;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotSame;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.ByteBuffer;
import org.junit.jupiter.api.Test;

class BufferPoolTest {
    @Test
    void aBufferThatWasGivenBackIsTakenAgain() {
        BufferPool pool = new BufferPool(1 << 20);
        ByteBuffer first = pool.take(5000);
        assertEquals(5000, first.putInt(7).limit());
        pool.give(first);
        ByteBuffer again = pool.take(4500);
        assertSame(first, again, "both need 5 KiB");
        assertEquals(0, again.position());
        assertEquals(4500, again.limit());
        assertNotSame(again, pool.take(4500), "somebody has it");
    }

    @Test
    void noBufferIsMoreThanAQuarterLargerThanAskedFor() {
        for (int bytes = 4 << 10; bytes <= 16 << 20; bytes += 1 + bytes / 7) {
            int capacity = BufferPool.capacity(bytes);
            assertTrue(capacity >= bytes && capacity <= bytes + bytes / 4 + 1, bytes + " bytes: " + capacity);
            assertEquals(capacity, BufferPool.capacity(capacity), "a size of the pool");
        }
        assertEquals(4 << 10, BufferPool.capacity(0));
        assertEquals(5 << 20, BufferPool.capacity((4 << 20) + 4), "a broadcast piece with its length before it");
    }

    @Test
    void onlySoMuchIsKept() {
        BufferPool pool = new BufferPool(8 << 10);
        ByteBuffer[] buffers = {pool.take(4096), pool.take(4096), pool.take(4096)};
        for (ByteBuffer buffer : buffers) {
            pool.give(buffer);
        }
        ByteBuffer kept = pool.take(4096);
        assertTrue(kept == buffers[0] || kept == buffers[1]);
        ByteBuffer second = pool.take(4096);
        assertTrue(second == buffers[0] || second == buffers[1]);
        assertNotSame(buffers[2], pool.take(4096));
    }

    @Test
    void whatIsTooLargeToKeepIsMadeAsAskedFor() {
        BufferPool pool = new BufferPool(1 << 30);
        ByteBuffer large = pool.take((16 << 20) + 1);
        assertEquals((16 << 20) + 1, large.capacity());
        pool.give(large);
        assertNotSame(large, pool.take((16 << 20) + 1));
    }
}
