// SPDX-License-Identifier: Apache-2.0
package org.verbena.core.plugin;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Collections;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.verbena.core.NativeLibrary;

@Timeout(60)
class BoundedPoolTest {
    private static final long SHORT = TimeUnit.MILLISECONDS.toNanos(20);
    private static final int LARGE = 256 << 20;
    private static final long LONG = TimeUnit.HOURS.toNanos(1);

    @Test
    void onlyWhatIsKeptIsReady() {
        BoundedPool pool = new BoundedPool(1 << 20, 1 << 20, LONG);
        assertNull(pool.ready(5000));
        ByteBuffer first = pool.take(5000);
        pool.give(first);
        assertSame(first, pool.ready(4500));
        assertNull(pool.ready(4500));
        assertEquals(first.capacity(), pool.used());
    }

    @Test
    void thereIsNeverMoreThanTheBound() {
        BoundedPool pool = new BoundedPool(16 << 10, 16 << 10, SHORT);
        ByteBuffer[] all = new ByteBuffer[4];
        for (int i = 0; i < all.length; i++) {
            all[i] = pool.tryTake(4096);
            assertNotNull(all[i]);
        }
        assertNull(pool.tryTake(1));
        assertNull(pool.take(1));
        assertEquals(16 << 10, pool.used());
        for (ByteBuffer buffer : all) {
            pool.give(buffer);
        }
        assertNotNull(pool.tryTake(16 << 10), "the kept ones of another size make room");
        assertNull(pool.tryTake((16 << 10) + 1));
        assertNull(pool.ready(4096));
    }

    @Test
    void whoWaitsGetsTheBufferThatIsGivenBack() throws Exception {
        BoundedPool pool = new BoundedPool(8 << 10, 8 << 10, LONG);
        ByteBuffer first = pool.take(8 << 10);
        CompletableFuture<Thread> waiter = new CompletableFuture<>();
        CompletableFuture<ByteBuffer> second = CompletableFuture.supplyAsync(() -> {
            waiter.complete(Thread.currentThread());
            return pool.take(8 << 10);
        });
        while (waiter.get().getState() != Thread.State.TIMED_WAITING) {
            Thread.onSpinWait();
        }
        pool.give(first);
        assertSame(first, second.get());
    }

    @Test
    void whoWaitsWhenThePoolIsClosedGetsNothing() throws Exception {
        BoundedPool pool = new BoundedPool(8 << 10, 8 << 10, LONG);
        assertNotNull(pool.take(8 << 10));
        CompletableFuture<ByteBuffer> second = CompletableFuture.supplyAsync(() -> pool.take(8 << 10));
        pool.close();
        assertNull(second.get());
        assertNull(pool.tryTake(1));
    }

    @Test
    void whatCanNeverFitIsRefusedAtOnce() {
        assertNull(new BoundedPool(8 << 10, 8 << 10, LONG).take(9 << 10));
    }

    /** Blocks of many sizes, one of which is too large to be kept, and no garbage collection. */
    @Test
    void realMemoryStaysBelowTheBoundAlsoBeforeAnythingIsCollected() throws Exception {
        NativeLibrary.load();
        int bound = 40 << 20;
        BoundedPool pool = new BoundedPool(bound, bound, SHORT);
        // While they are referred to, no collection frees them; some are taken again.
        Set<ByteBuffer> all = Collections.newSetFromMap(new IdentityHashMap<>());
        for (int mib = 1; mib <= 20; mib++) {
            ByteBuffer[] two = {pool.take(mib << 20), pool.take(mib << 20)};
            for (ByteBuffer one : two) {
                all.add(BufferPoolTest.filled(one));
            }
            long live = BufferPoolTest.live(all);
            assertTrue(live <= bound + all.size() * 8192L, live + " bytes after " + mib + " MiB");
            for (ByteBuffer one : two) {
                pool.give(one);
            }
        }
        pool.close();
        long live = BufferPoolTest.live(all);
        assertTrue(live <= all.size() * 8192L, live + " bytes of a closed pool");
    }

    /** Direct memory is 1 GiB here, see pom.xml; by default it would be a quarter of the machine's memory. */
    @Test
    void whatTheJvmDoesNotHaveIsNotGiven() {
        BoundedPool pool = new BoundedPool(Long.MAX_VALUE, 0, SHORT);
        List<ByteBuffer> all = new ArrayList<>();
        for (ByteBuffer one = pool.tryTake(LARGE); one != null; one = pool.tryTake(LARGE)) {
            all.add(one);
        }
        assertFalse(all.isEmpty());
        assertEquals((long) all.size() * LARGE, pool.used());
        assertNull(pool.take(LARGE));
        assertNull(pool.tryTake(1), "the JVM is not asked again at once");
        ByteBuffer kept = ByteBuffer.allocateDirect(1);
        pool.give(kept); // as if it were one of the pool's
        assertNotNull(pool.tryTake(1), "a buffer came back");
    }
}
