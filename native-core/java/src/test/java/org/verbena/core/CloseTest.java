// SPDX-License-Identifier: Apache-2.0
package org.verbena.core;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

@Timeout(120)
class CloseTest {
    private static final int LARGE = 100_000; // announced over every transport, whatever the costs

    @ParameterizedTest
    @ValueSource(strings = {"self,shm", "tcp"})
    void operations_that_pend_when_the_engine_closes_complete_with_closed(String transports) throws Exception {
        try (Fixture fixture = new Fixture(); VbnEngine other = fixture.context(transports).startEngine("other")) {
            VbnEngine engine = fixture.context(transports).startEngine("closing");
            List<RemoteData> kept = new java.util.concurrent.CopyOnWriteArrayList<>();
            other.onMessage(1, message -> kept.add(message.remote()));
            VbnPeer peer = engine.connect(other.address(), null);
            List<Fixture.Wait> waits = new ArrayList<>();
            for (int i = 0; i < 100; i++) {
                Fixture.Wait wait = new Fixture.Wait();
                engine.send(peer, 1, null, new ByteBuffer[] {Fixture.pattern(LARGE, i)}, wait);
                waits.add(wait);
            }
            Fixture.await("announcements", () -> kept.size() == 100);
            Thread closer = new Thread(engine::close);
            closer.start();
            for (Fixture.Wait wait : waits) {
                assertEquals(VbnStatus.CLOSED, wait.failure().kind());
            }
            closer.join(TimeUnit.SECONDS.toMillis(Fixture.TIMEOUT_SECONDS));
            assertFalse(closer.isAlive());
            assertTrue(peer.isLost());
            Fixture.Wait pull = new Fixture.Wait();
            other.pull(kept.get(0), ByteBuffer.allocateDirect(LARGE), pull);
            assertEquals(VbnStatus.PEER_LOST, pull.failure().kind());
        }
    }

    @Test
    void calls_on_a_closed_engine_fail_and_do_not_hang() throws Exception {
        try (Fixture fixture = new Fixture()) {
            VbnEngine engine = fixture.context("self").startEngine("a");
            byte[] address = engine.address();
            VbnPeer peer = engine.connect(address, null);
            engine.close();
            engine.close();
            Fixture.Wait send = new Fixture.Wait();
            engine.send(peer, 1, null, null, send);
            assertEquals(VbnStatus.CLOSED, send.failure().kind());
            VbnException refused = assertThrows(VbnException.class, () -> engine.connect(address, null));
            assertEquals(VbnStatus.CLOSED, refused.kind());
            assertThrows(RejectedExecutionException.class, () -> engine.execute(() -> { }));
            assertThrows(IllegalStateException.class, () -> engine.onMessage(1, message -> { }));
            assertTrue(peer.explain().contains("closed"));
            peer.close();
        }
    }

    @Test
    void an_engine_can_be_closed_by_its_own_callback() throws Exception {
        try (Fixture fixture = new Fixture()) {
            VbnEngine engine = fixture.context("self").startEngine("a");
            engine.execute(engine::close);
            Fixture.await("end", engine::isClosed);
            engine.close();
        }
    }

    @Test
    void every_operation_of_many_threads_completes_once_when_the_engine_closes_under_them() throws Exception {
        try (Fixture fixture = new Fixture()) {
            VbnContext context = fixture.context("self");
            for (int round = 0; round < 20; round++) {
                VbnEngine engine = context.startEngine("a");
                VbnPeer peer = engine.connect(engine.address(), null);
                AtomicInteger issued = new AtomicInteger();
                AtomicInteger completed = new AtomicInteger();
                CountDownLatch started = new CountDownLatch(3);
                List<Thread> threads = new ArrayList<>();
                for (int t = 0; t < 3; t++) {
                    threads.add(new Thread(() -> {
                        started.countDown();
                        for (int i = 0; i < 2000; i++) {
                            issued.incrementAndGet();
                            engine.flush(peer, (error, length) -> completed.incrementAndGet());
                        }
                    }));
                }
                threads.forEach(Thread::start);
                assertTrue(started.await(Fixture.TIMEOUT_SECONDS, TimeUnit.SECONDS));
                engine.close();
                for (Thread thread : threads) {
                    thread.join();
                }
                assertEquals(6000, issued.get());
                Fixture.await("all completions", () -> completed.get() == 6000);
            }
        }
    }

    @Test
    void a_full_queue_pushes_back_and_then_fails_with_limit() throws Exception {
        try (Fixture fixture = new Fixture()) {
            VbnContext context = fixture.context(new VbnConfig().set("tl.enable", "self").jobKey(Fixture.jobKey(1))
                .queue(4, Duration.ofMillis(50)));
            VbnEngine engine = context.startEngine("slow");
            VbnPeer peer = engine.connect(engine.address(), null);
            CountDownLatch release = new CountDownLatch(1);
            CompletableFuture<Void> blocked = new CompletableFuture<>();
            engine.execute(() -> {
                blocked.complete(null);
                try {
                    release.await(Fixture.TIMEOUT_SECONDS, TimeUnit.SECONDS);
                } catch (InterruptedException e) {
                    Thread.currentThread().interrupt();
                }
            });
            Fixture.get(blocked);
            List<Fixture.Wait> waits = new ArrayList<>();
            for (int i = 0; i < 6; i++) {
                waits.add(new Fixture.Wait());
                engine.flush(peer, waits.get(i));
            }
            assertThrows(RejectedExecutionException.class, () -> engine.execute(() -> { }));
            release.countDown();
            for (int i = 0; i < 4; i++) {
                waits.get(i).get();
            }
            VbnException full = waits.get(5).failure();
            assertEquals(VbnStatus.LIMIT, full.kind());
            assertTrue(full.getMessage().contains("VbnConfig.queue"), full.getMessage());
            engine.close();
        }
    }

    @Test
    void a_context_closes_what_is_left_and_says_so() throws Exception {
        try (Fixture fixture = new Fixture()) {
            VbnContext context = fixture.context("self");
            VbnEngine engine = context.startEngine("left");
            VbnMemory memory = context.allocate(4096);
            context.close();
            assertTrue(engine.isClosed());
            assertTrue(memory.isClosed());
            assertTrue(fixture.log.stream().anyMatch(line -> line.contains("1 engines and 1 memory blocks")),
                fixture.log.toString());
            assertEquals(VbnStatus.CLOSED, assertThrows(VbnException.class, () -> context.allocate(1)).kind());
            assertEquals(VbnStatus.CLOSED, assertThrows(VbnException.class, () -> context.startEngine("x")).kind());
            assertEquals(2L, context.counters().get("java.leaked"));
        }
    }

    @Test
    void forgotten_memory_is_freed_and_counted_as_leaked() throws Exception {
        try (Fixture fixture = new Fixture()) {
            VbnContext context = fixture.context("self");
            assertNull(forget(context));
            Fixture.await("the leak", () -> {
                System.gc();
                return context.counters().get("java.leaked") == 1;
            });
            assertTrue(fixture.log.stream().anyMatch(line -> line.contains("became unreachable without close")));
        }
    }

    private static Object forget(VbnContext context) throws VbnException {
        context.allocate(4096).buffer().put(0, (byte) 1);
        return null;
    }

    @Test
    void a_peer_whose_engine_closes_is_reported_lost_to_connector_and_acceptor() throws Exception {
        try (Fixture fixture = new Fixture()) {
            VbnEngine server = fixture.context("self,shm").startEngine("server");
            VbnEngine client = fixture.context("self,shm").startEngine("client");
            CompletableFuture<VbnPeer> accepted = new CompletableFuture<>();
            server.onMessage(1, message -> accepted.complete(message.peer()));
            CompletableFuture<VbnException> connectorTold = new CompletableFuture<>();
            VbnPeer peer = client.connect(server.address(), (lost, cause) -> connectorTold.complete(cause));
            client.send(peer, 1, null, null, null);
            VbnPeer seen = Fixture.get(accepted);
            assertEquals(seen.uid(), Fixture.get(accepted).uid());
            seen.attach("session");
            CompletableFuture<Object> acceptorTold = new CompletableFuture<>();
            seen.onLost((lost, cause) -> acceptorTold.complete(lost.attachment()));
            VbnEngine second = fixture.first().startEngine("second");
            VbnPeer secondPeer = client.connect(second.address(), null);
            client.close();
            assertEquals("session", Fixture.get(acceptorTold));
            assertTrue(seen.isLost());
            Fixture.Wait send = new Fixture.Wait();
            server.send(seen, 1, null, null, send);
            assertEquals(VbnStatus.STALE, send.failure().kind());
            assertFalse(connectorTold.isDone());
            assertTrue(secondPeer.isLost());
            server.close();
        }
    }
}
