// SPDX-License-Identifier: Apache-2.0
package org.verbena.core.plugin;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

class GrantsTest {
    private final List<Integer> started = new ArrayList<>();

    private void acquire(Grants grants, int number) {
        grants.acquire(() -> started.add(number));
    }

    @Test
    void whatIsOverTheBoundStartsInOrderWhenGrantsComeBack() {
        Grants grants = new Grants(2);
        IntStream.range(0, 5).forEach(i -> acquire(grants, i));
        assertEquals(List.of(0, 1), started);
        grants.release();
        assertEquals(List.of(0, 1, 2), started);
        grants.release();
        grants.release();
        grants.release();
        assertEquals(List.of(0, 1, 2, 3, 4), started);
        acquire(grants, 5);
        assertEquals(6, started.size());
    }

    @Test
    void manyThatFailAtOnceDoNotExhaustTheStack() {
        Grants grants = new Grants(1);
        AtomicInteger failed = new AtomicInteger();
        grants.acquire(() -> { });
        for (int i = 0; i < 200_000; i++) {
            grants.acquire(() -> {
                failed.incrementAndGet();
                grants.release();
            });
        }
        grants.release();
        assertEquals(200_000, failed.get());
    }

    @Test
    void aStartThatThrowsStopsNobodyElse() {
        Grants grants = new Grants(2);
        assertThrows(IllegalStateException.class, () -> grants.acquire(() -> {
            throw new IllegalStateException("no");
        }));
        acquire(grants, 1);
        assertEquals(List.of(1), started);
    }

    @Test
    void liftedGrantsLetEverythingGo() {
        Grants grants = new Grants(1);
        IntStream.range(0, 5).forEach(i -> acquire(grants, i));
        grants.lift();
        acquire(grants, 5);
        assertEquals(List.of(0, 1, 2, 3, 4, 5), started);
    }

    @Test
    void theBoundHoldsWithManyThreadsAndEverythingStartsOnce() throws InterruptedException {
        int most = 3;
        int each = 2000;
        Grants grants = new Grants(most);
        AtomicInteger outstanding = new AtomicInteger();
        AtomicInteger worst = new AtomicInteger();
        CountDownLatch all = new CountDownLatch(4 * each);
        ExecutorService replies = Executors.newFixedThreadPool(2);
        Thread[] askers = new Thread[4];
        for (int t = 0; t < askers.length; t++) {
            askers[t] = new Thread(() -> IntStream.range(0, each).forEach(i -> grants.acquire(() -> {
                worst.accumulateAndGet(outstanding.incrementAndGet(), Math::max);
                replies.execute(() -> {
                    outstanding.decrementAndGet();
                    all.countDown();
                    grants.release();
                });
            })));
            askers[t].start();
        }
        assertTrue(all.await(60, TimeUnit.SECONDS), "left: " + all.getCount());
        assertTrue(worst.get() <= most, "outstanding: " + worst.get());
        for (Thread asker : askers) {
            asker.join();
        }
        replies.shutdown();
    }
}
