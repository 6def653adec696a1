// SPDX-License-Identifier: Apache-2.0
package org.verbena.core;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.ByteBuffer;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

@Timeout(120)
class MessageTest {
    private static final int[] SIZES = {0, 1, 7, 64, 4095, 4096, 4097, 8191, 65_536, 1 << 20, 5_000_003};

    @ParameterizedTest
    @ValueSource(strings = {"self,shm", "tcp"})
    void messages_of_all_sizes_come_back_unchanged(String transports) throws Exception {
        try (Fixture fixture = new Fixture()) {
            VbnContext server = fixture.context(transports);
            VbnContext client = fixture.context(transports);
            echoAllSizes(server, client);
        }
    }

    @Test
    void two_engines_of_one_context_talk() throws Exception {
        try (Fixture fixture = new Fixture()) {
            VbnContext context = fixture.context("self,shm,tcp");
            echoAllSizes(context, context);
        }
    }

    @Test
    void an_engine_names_the_transports_that_it_opened() throws Exception {
        try (Fixture fixture = new Fixture();
             VbnEngine shm = fixture.context("self,shm").startEngine("shm");
             VbnEngine both = fixture.context("tcp,shm").startEngine("both")) {
            assertEquals(List.of("self", "shm"), shm.transports());
            assertEquals(List.of("tcp", "shm"), both.transports());
        }
    }

    private static void echoAllSizes(VbnContext server, VbnContext client) throws Exception {
        try (VbnEngine serving = server.startEngine("server"); VbnEngine engine = client.startEngine("client")) {
            Fixture.serveEcho(server, serving);
            for (int size : SIZES) {
                CompletableFuture<ByteBuffer> reply = new CompletableFuture<>();
                receive(engine, reply);
                ByteBuffer data = Fixture.pattern(size, size);
                try (VbnPeer peer = engine.connect(serving.address(), null)) {
                    Fixture.Wait sent = new Fixture.Wait();
                    engine.send(peer, Fixture.ECHO, ByteBuffer.wrap(new byte[] {7, 8}), new ByteBuffer[] {data}, sent);
                    assertEquals(data, Fixture.get(reply), "size " + size);
                    assertEquals(size, sent.get());
                    assertEquals(0, data.position());
                }
            }
        }
    }

    private static void receive(VbnEngine engine, CompletableFuture<ByteBuffer> reply) {
        engine.onMessage(Fixture.REPLY, message -> {
            assertEquals(8, message.header().get(1));
            ByteBuffer got = ByteBuffer.allocateDirect((int) message.length());
            if (message.remote() == null) {
                reply.complete(got.put(message.data()).flip());
            } else {
                engine.pull(message.remote(), got, (error, length) -> reply.complete(error == null ? got : null));
            }
        });
    }

    @Test
    void an_engine_sends_to_itself() throws Exception {
        try (Fixture fixture = new Fixture(); VbnEngine engine = fixture.context("self").startEngine("self")) {
            CompletableFuture<Integer> got = new CompletableFuture<>();
            engine.onMessage(3, message -> got.complete(message.data().getInt()));
            VbnPeer peer = engine.connect(engine.address(), null);
            ByteBuffer data = ByteBuffer.allocateDirect(4).order(java.nio.ByteOrder.nativeOrder()).putInt(0, 4711);
            engine.send(peer, 3, null, new ByteBuffer[] {data}, null);
            assertEquals(4711, Fixture.get(got));
            peer.close();
        }
    }

    @ParameterizedTest
    @ValueSource(ints = {0, 1, 2, 4, 5, 63, 1024})
    void payload_of_many_parts_arrives_as_one(int parts) throws Exception {
        try (Fixture fixture = new Fixture(); VbnEngine engine = fixture.context("self,shm").startEngine("a");
                VbnEngine other = fixture.context("self,shm").startEngine("b")) {
            CompletableFuture<Integer> sum = new CompletableFuture<>();
            other.onMessage(5, message -> {
                ByteBuffer got = ByteBuffer.allocateDirect((int) message.length());
                if (message.remote() != null) {
                    other.pull(message.remote(), got, (error, length) -> sum.complete(sumOf(got)));
                } else {
                    sum.complete(sumOf(message.data()));
                }
            });
            ByteBuffer[] payload = new ByteBuffer[parts];
            int expected = 0;
            for (int i = 0; i < parts; i++) {
                payload[i] = Fixture.pattern(i % 40, i);
                expected += sumOf(payload[i]);
            }
            VbnPeer peer = engine.connect(other.address(), null);
            engine.send(peer, 5, ByteBuffer.allocate(192), payload, null);
            assertEquals(expected, Fixture.get(sum));
            peer.close();
        }
    }

    private static int sumOf(ByteBuffer buffer) {
        int sum = 0;
        for (int i = 0; i < buffer.limit(); i++) {
            sum += buffer.get(i);
        }
        return sum;
    }

    @ParameterizedTest
    @ValueSource(strings = {"self,shm", "tcp"})
    void messages_of_one_thread_keep_their_order_beyond_all_queues(String transports) throws Exception {
        int count = 50_000;
        try (Fixture fixture = new Fixture(); VbnEngine engine = fixture.context(transports).startEngine("a");
                VbnEngine other = fixture.context(transports).startEngine("b")) {
            AtomicInteger next = new AtomicInteger();
            List<Integer> wrong = new CopyOnWriteArrayList<>();
            other.onMessage(9, message -> {
                int number = message.header().getInt();
                if (next.getAndIncrement() != number || message.length() != 100) {
                    wrong.add(number);
                }
            });
            VbnPeer peer = engine.connect(other.address(), null);
            ByteBuffer data = Fixture.pattern(100, 0);
            for (int i = 0; i < count; i++) {
                ByteBuffer header = ByteBuffer.allocate(4).order(java.nio.ByteOrder.nativeOrder()).putInt(0, i);
                engine.send(peer, 9, header, new ByteBuffer[] {data}, null);
            }
            Fixture.await("all messages", () -> next.get() == count);
            assertEquals(List.of(), wrong);
            peer.close();
        }
    }

    @Test
    void a_flood_from_the_engines_own_thread_never_blocks_it() throws Exception {
        int count = 40_000;
        try (Fixture fixture = new Fixture(); VbnEngine engine = fixture.context("self,shm").startEngine("a");
                VbnEngine other = fixture.context("self,shm").startEngine("b")) {
            AtomicInteger done = new AtomicInteger();
            other.onMessage(9, message -> { });
            VbnPeer peer = engine.connect(other.address(), null);
            ByteBuffer data = Fixture.pattern(3000, 0);
            engine.execute(() -> {
                for (int i = 0; i < count; i++) {
                    engine.send(peer, 9, null, new ByteBuffer[] {data}, (error, length) -> done.incrementAndGet());
                }
            });
            Fixture.await("all completions", () -> done.get() == count);
            peer.close();
        }
    }

    @Test
    void a_task_that_interrupts_the_engines_thread_leaves_it_able_to_wait() throws Exception {
        try (Fixture fixture = new Fixture(); VbnEngine engine = fixture.context("self,shm").startEngine("a")) {
            engine.execute(() -> Thread.currentThread().interrupt());
            Fixture.await("a task without the interrupt of the first one", () -> {
                CompletableFuture<Boolean> interrupted = new CompletableFuture<>();
                engine.execute(() -> interrupted.complete(Thread.currentThread().isInterrupted()));
                return !interrupted.join();
            });
        }
    }

    @Test
    void a_pull_into_a_small_buffer_fails_and_can_be_repeated() throws Exception {
        try (Fixture fixture = new Fixture(); VbnEngine engine = fixture.context("self,shm").startEngine("a");
                VbnEngine other = fixture.context("self,shm").startEngine("b")) {
            CompletableFuture<RemoteData> remote = new CompletableFuture<>();
            other.onMessage(1, message -> remote.complete(message.remote()));
            VbnPeer peer = engine.connect(other.address(), null);
            Fixture.Wait sent = new Fixture.Wait();
            engine.send(peer, 1, null, new ByteBuffer[] {Fixture.pattern(100_000, 3)}, sent);
            RemoteData data = Fixture.get(remote);
            assertEquals(100_000, data.length());
            Fixture.Wait small = new Fixture.Wait();
            other.pull(data, ByteBuffer.allocateDirect(99_999), small);
            assertEquals(VbnStatus.TRUNCATED, small.failure().kind());
            Fixture.Wait whole = new Fixture.Wait();
            ByteBuffer target = ByteBuffer.allocateDirect(100_000);
            other.pull(data, target, whole);
            assertEquals(100_000, whole.get());
            assertEquals(Fixture.pattern(100_000, 3), target);
            assertEquals(100_000, sent.get());
            Fixture.Wait again = new Fixture.Wait();
            other.pull(data, target, again);
            assertEquals(VbnStatus.STALE, again.failure().kind());
            peer.close();
        }
    }

    @Test
    void a_dropped_message_completes_at_its_sender() throws Exception {
        try (Fixture fixture = new Fixture(); VbnEngine engine = fixture.context("self,shm").startEngine("a");
                VbnEngine other = fixture.context("self,shm").startEngine("b")) {
            other.onMessage(1, message -> other.drop(message.remote()));
            VbnPeer peer = engine.connect(other.address(), null);
            Fixture.Wait sent = new Fixture.Wait();
            engine.send(peer, 1, null, new ByteBuffer[] {Fixture.pattern(100_000, 3)}, sent);
            sent.get();
            Fixture.Wait flushed = new Fixture.Wait();
            engine.flush(peer, flushed);
            flushed.get();
            peer.close();
        }
    }

    @Test
    void a_large_message_without_handler_fails_at_its_sender() throws Exception {
        try (Fixture fixture = new Fixture(); VbnEngine engine = fixture.context("self,shm").startEngine("a");
                VbnEngine other = fixture.context("self,shm").startEngine("b")) {
            VbnPeer peer = engine.connect(other.address(), null);
            Fixture.Wait sent = new Fixture.Wait();
            engine.send(peer, 1, null, new ByteBuffer[] {Fixture.pattern(100_000, 3)}, sent);
            assertEquals(VbnStatus.UNSUPPORTED, sent.failure().kind());
            peer.close();
        }
    }

    @Test
    void wrong_arguments_are_refused_in_the_callers_thread() throws Exception {
        try (Fixture fixture = new Fixture(); VbnEngine engine = fixture.context("self").startEngine("a")) {
            VbnPeer peer = engine.connect(engine.address(), null);
            ByteBuffer[] heap = {ByteBuffer.allocate(10)};
            assertThrows(IllegalArgumentException.class, () -> engine.send(peer, 1, null, heap, null));
            assertThrows(IllegalArgumentException.class, () -> engine.send(peer, 64, null, null, null));
            ByteBuffer header = ByteBuffer.allocate(193);
            assertThrows(IllegalArgumentException.class, () -> engine.send(peer, 1, header, null, null));
            ByteBuffer[] many = new ByteBuffer[VbnEngine.PARTS_MAX + 1];
            assertThrows(IllegalArgumentException.class, () -> engine.send(peer, 1, null, many, null));
            peer.close();
        }
    }

    @Test
    void a_bad_address_is_an_error_that_says_so() throws Exception {
        try (Fixture fixture = new Fixture(); VbnEngine engine = fixture.context("self,shm").startEngine("a")) {
            byte[] cut = java.util.Arrays.copyOf(engine.address(), 5);
            assertThrows(VbnException.class, () -> engine.connect(cut, null));
            assertThrows(VbnException.class, () -> engine.connect(new byte[5000], null));
        }
    }

    @Test
    void what_a_callback_throws_is_logged_and_the_engine_goes_on() throws Exception {
        try (Fixture fixture = new Fixture(); VbnEngine engine = fixture.context("self").startEngine("a")) {
            engine.onMessage(1, message -> {
                throw new IllegalStateException("boom");
            });
            VbnPeer peer = engine.connect(engine.address(), null);
            engine.send(peer, 1, null, null, null);
            Fixture.await("a log line", () -> fixture.log.stream().anyMatch(line -> line.contains("boom")));
            assertTrue(peer.explain().contains("self"), peer.explain());
            assertEquals("self", peer.transport());
            peer.close();
        }
    }
}
