// SPDX-License-Identifier: Apache-2.0
package org.verbena.core.plugin;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotSame;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.ByteBuffer;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.verbena.core.NativeLibrary;

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

    private static final int PAGE = 4 << 10;

    /** Bytes of pages that buffers full of ones still have. Nothing is collected, since the buffers are referred to. */
    static long live(Iterable<ByteBuffer> buffers) {
        long live = 0;
        for (ByteBuffer buffer : buffers) {
            for (int at = 0; at < buffer.capacity(); at += PAGE) {
                live += buffer.get(at) == 0 ? 0 : Math.min(PAGE, buffer.capacity() - at);
            }
        }
        return live;
    }

    static ByteBuffer filled(ByteBuffer buffer) {
        buffer.clear();
        while (buffer.hasRemaining()) {
            buffer.put((byte) 1);
        }
        return buffer.clear();
    }

    /** Whole pages of it; the first and the last one belong to others as well. */
    @Test
    void theMemoryOfABufferThatIsNotKeptIsGivenBackAtOnce() throws Exception {
        NativeLibrary.load();
        BufferPool pool = new BufferPool(8 << 20);
        ByteBuffer large = filled(pool.take(20 << 20));
        ByteBuffer kept = filled(pool.take(8 << 20));
        ByteBuffer tooMany = filled(pool.take(1 << 20));
        pool.give(large.duplicate());
        pool.give(kept);
        pool.give(tooMany);
        assertTrue(live(List.of(large)) <= 2 * PAGE, "live: " + live(List.of(large)));
        assertTrue(live(List.of(tooMany)) <= 2 * PAGE, "live: " + live(List.of(tooMany)));
        assertEquals(8 << 20, live(List.of(kept)), "it is kept as it is");
        pool.drop(1);
        assertTrue(live(List.of(kept)) <= 2 * PAGE, "live: " + live(List.of(kept)));
        assertEquals(1 << 20, live(List.of(filled(tooMany))), "it can be used all the same");
    }

    @Test
    void largeBuffersGoFirstAndNoMoreThanHaveTo() {
        BufferPool pool = new BufferPool(1 << 20);
        ByteBuffer[] buffers = {pool.take(4096), pool.take(65536), pool.take(16384), pool.take(16384)};
        for (ByteBuffer buffer : buffers) {
            pool.give(buffer);
        }
        pool.drop(65537);
        assertEquals(4096 + 16384, pool.kept());
        pool.drop(-1);
        assertEquals(4096 + 16384, pool.kept());
        assertSame(buffers[0], pool.poll(4096));
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
