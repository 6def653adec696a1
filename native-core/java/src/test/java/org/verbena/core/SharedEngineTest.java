// SPDX-License-Identifier: Apache-2.0
package org.verbena.core;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** An engine that all threads drive which have to do with it, against one with a thread of its own. */
class SharedEngineTest {
    private static final long LONG_NANOS = 10_000_000_000L;

    private final Fixture fixture = new Fixture();
    private VbnContext context;
    private VbnEngine shared;
    private VbnEngine other;
    private VbnPeer peer;

    @BeforeEach
    void start() throws Exception {
        context = fixture.context("self,shm,tcp");
        shared = context.shareEngine("shared");
        other = context.startEngine("other");
        Fixture.serveEcho(context, other);
        peer = shared.connect(other.address(), null);
    }

    @AfterEach
    void stop() {
        fixture.close();
    }

    /** A thread that sends and waits for the answer, again and again. */
    private final class Caller {
        final AtomicInteger answered = new AtomicInteger();
        final Thread thread;
        private final int number;
        private final int size;

        Caller(int number, int size, int rounds) {
            this.number = number;
            this.size = size;
            thread = new Thread(() -> run(rounds), "caller " + number);
        }

        private void run(int rounds) {
            ByteBuffer header = ByteBuffer.allocate(4).putInt(0, number);
            ByteBuffer[] data = {Fixture.pattern(size, number)};
            for (int round = 1; round <= rounds; round++) {
                int wanted = round;
                shared.send(peer, Fixture.ECHO, header, data, null);
                while (answered.get() < wanted) {
                    shared.park(() -> answered.get() >= wanted, LONG_NANOS);
                }
            }
        }
    }

    private List<Caller> callers(int count, int size, int rounds) {
        List<Caller> all = new ArrayList<>();
        for (int i = 0; i < count; i++) {
            all.add(new Caller(i, size, rounds));
        }
        shared.onMessage(Fixture.REPLY, message -> {
            Caller caller = all.get(ByteBuffer.allocate(4).put(message.header()).getInt(0));
            assertEquals(size, message.length());
            if (message.remote() != null) {
                ByteBuffer got = ByteBuffer.allocateDirect(size);
                shared.pull(message.remote(), got, (error, bytes) -> answer(caller, got));
            } else {
                answer(caller, message.data());
            }
        });
        return all;
    }

    private void answer(Caller caller, ByteBuffer got) {
        assertTrue(shared.inEngine());
        assertEquals(Fixture.pattern(caller.size, caller.number), got);
        caller.answered.incrementAndGet();
        shared.unpark(caller.thread);
    }

    @ParameterizedTest
    @ValueSource(ints = {0, 100, 300_000})
    void every_caller_gets_every_answer(int size) throws Exception {
        int rounds = size > 100_000 ? 200 : 3000;
        List<Caller> all = callers(4, size, rounds);
        all.forEach(caller -> caller.thread.start());
        for (Caller caller : all) {
            caller.thread.join(Fixture.TIMEOUT_SECONDS * 1000);
            assertFalse(caller.thread.isAlive(), "it waits for an answer: " + caller.answered);
            assertEquals(rounds, caller.answered.get());
        }
        assertEquals(List.of(), fixture.log);
    }

    @Test
    void nobody_has_to_wait_for_what_comes_by_itself() throws Exception {
        CompletableFuture<ByteBuffer> got = new CompletableFuture<>();
        shared.onMessage(Fixture.REPLY, message -> got.complete(ByteBuffer.allocate(3).put(message.data()).flip()));
        shared.send(peer, Fixture.ECHO, null, new ByteBuffer[] {Fixture.pattern(3, 1)}, null);
        assertEquals(Fixture.pattern(3, 1), Fixture.get(got)); // a future: this thread does not help
    }

    @Test
    void the_engine_s_own_thread_attends_when_a_caller_says_that_it_leaves() {
        for (int i = 0; i < 200; i++) {
            shared.park(() -> false, 100_000); // takes its place
            shared.attend();
            assertTrue(shared.willAttend());
        }
    }

    @Test
    void a_wait_ends_by_a_call_and_by_time() throws Exception {
        shared.park(() -> false, 1_000_000);
        AtomicBoolean ready = new AtomicBoolean();
        List<Thread> waiting = new ArrayList<>();
        for (int i = 0; i < 3; i++) { // one is the sleeper, the others are parked
            Thread thread = new Thread(() -> {
                while (!ready.get()) {
                    shared.park(ready::get, Long.MAX_VALUE / 4);
                }
            });
            thread.start();
            waiting.add(thread);
        }
        for (Thread thread : waiting) {
            Fixture.await("it waits", () -> thread.getState() != Thread.State.NEW);
        }
        ready.set(true);
        waiting.forEach(shared::unpark);
        for (Thread thread : waiting) {
            thread.join(Fixture.TIMEOUT_SECONDS * 1000);
            assertFalse(thread.isAlive());
        }
    }

    @Test
    void closing_it_ends_the_waits_and_completes_what_is_pending() throws Exception {
        CompletableFuture<VbnException> failed = new CompletableFuture<>();
        AtomicReference<VbnException> lost = new AtomicReference<>();
        other.onMessage(7, message -> { }); // never pulled
        shared.send(peer, 7, null, new ByteBuffer[] {ByteBuffer.allocateDirect(1 << 20)}, (error, bytes) -> failed.complete(error));
        AtomicBoolean over = new AtomicBoolean();
        Thread thread = new Thread(() -> {
            while (!over.get()) {
                shared.park(over::get, LONG_NANOS);
            }
        });
        thread.start();
        peer.onLost((gone, cause) -> lost.set(cause));
        shared.close();
        assertEquals(VbnStatus.CLOSED, Fixture.get(failed).kind());
        over.set(true);
        shared.unpark(thread);
        thread.join(Fixture.TIMEOUT_SECONDS * 1000);
        assertFalse(thread.isAlive());
        shared.help(); // and nothing more happens
        shared.close();
    }

    @Test
    void a_callback_may_close_it() throws Exception {
        CompletableFuture<Void> done = new CompletableFuture<>();
        shared.execute(() -> {
            shared.close();
            done.complete(null);
        });
        Fixture.get(done);
        Fixture.await("it ends", shared::isClosed);
    }
}
