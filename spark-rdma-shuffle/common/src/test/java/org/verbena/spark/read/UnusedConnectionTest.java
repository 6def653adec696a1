// SPDX-License-Identifier: Apache-2.0
// Connections that nobody uses end on both sides, and come back when they are needed.
package org.verbena.spark.read;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.function.BooleanSupplier;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.verbena.spark.metrics.Traffic;

@Timeout(120)
class UnusedConnectionTest {
    private final Executors executors = new Executors();
    private Executors.One a;
    private Executors.One b;

    @BeforeEach
    void start() throws Exception {
        a = executors.start("a");
        b = executors.start("b");
        a.write(1, 0, 10);
        b.write(1, 1, 10);
    }

    @AfterEach
    void close() throws Exception {
        executors.close();
    }

    private static void await(BooleanSupplier condition, String what) throws InterruptedException {
        long deadline = System.nanoTime() + TimeUnit.SECONDS.toNanos(90); // a link that has failed is counted, see assertNoFailure
        while (!condition.getAsBoolean()) {
            assertTrue(System.nanoTime() < deadline, what);
            Thread.sleep(5);
        }
    }

    /** Fetches until a block comes by the core. */
    private static void fetchByCore(Executors.One one, String from, String block) throws InterruptedException {
        long before = one.traffic.blocks(Traffic.Path.SHM);
        await(() -> {
            try {
                assertEquals(7, one.fetch(from, block));
            } catch (InterruptedException e) {
                throw new AssertionError(e);
            }
            return one.traffic.blocks(Traffic.Path.SHM) > before;
        }, "a block by the core");
    }

    private void assertNoFailure() {
        assertEquals(0, a.traffic.fallbacks(Traffic.Reason.DOWN));
        assertEquals(0, b.traffic.fallbacks(Traffic.Reason.DOWN));
    }

    @Test
    void anUnusedConnectionEndsOnBothSidesAndTheNextFetchMakesItAgain() throws Exception {
        fetchByCore(a, "b", "shuffle_1_1_7");
        fetchByCore(b, "a", "shuffle_1_0_7");
        assertEquals(1, a.client.connections());
        assertEquals(1, b.client.connections());
        a.client.closeUnused(System.nanoTime() + Links.IDLE + TimeUnit.SECONDS.toNanos(1));
        await(() -> a.client.connections() == 0 && b.client.connections() == 0, "no connection is left");
        fetchByCore(a, "b", "shuffle_1_1_7");
        fetchByCore(b, "a", "shuffle_1_0_7");
        assertEquals(1, a.client.connections());
        assertEquals(2, a.connects(), "one at a time for both directions");
        assertNoFailure();
    }

    @Test
    void aConnectionThatOnlyTheOtherSideUsesStays() throws Exception {
        fetchByCore(b, "a", "shuffle_1_0_7");
        long before = System.nanoTime();
        Thread.sleep(20);
        fetchByCore(a, "b", "shuffle_1_1_7");
        b.client.closeUnused(before + Links.IDLE + 1);
        fetchByCore(a, "b", "shuffle_1_1_7");
        assertEquals(1, b.client.connections());
        assertEquals(1, a.client.connections());
        assertNoFailure();
    }

    @Test
    void anExecutorThatEndsWhileNobodyWaitsForItIsReachedAgainAtOnceWhenItIsBack() throws Exception {
        fetchByCore(a, "b", "shuffle_1_1_7");
        executors.stop("b");
        await(() -> a.client.connections() == 0, "the connection has ended");
        b = executors.start("b");
        b.write(1, 1, 10);
        fetchByCore(a, "b", "shuffle_1_1_7");
        assertNoFailure();
    }

    @Test
    void executorsThatEndedMakeRoomForOthersUnderTheBoundOfConnections() throws Exception {
        try (Executors few = new Executors(Map.of("spark.verbena.maxPeers", "1"))) {
            Executors.One one = few.start("one");
            one.write(1, 0, 10); // the store is everybody's
            few.start("first");
            fetchByCore(one, "first", "shuffle_1_0_7");
            few.start("second");
            assertEquals(7, one.fetch("second", "shuffle_1_0_7"));
            assertEquals(1, one.traffic.fallbacks(Traffic.Reason.PEERS));
            few.stop("first");
            await(() -> one.client.connections() == 0, "the connection has ended");
            fetchByCore(one, "second", "shuffle_1_0_7");
            assertEquals(0, one.traffic.fallbacks(Traffic.Reason.DOWN));
        }
    }
}
