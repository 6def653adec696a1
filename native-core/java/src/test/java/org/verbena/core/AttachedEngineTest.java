// SPDX-License-Identifier: Apache-2.0
package org.verbena.core;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.ByteBuffer;
import java.util.Queue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentLinkedQueue;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** An engine that a thread of the test drives. */
class AttachedEngineTest {
    private static final long LONG_NANOS = 1_000_000_000L;

    private final Fixture fixture = new Fixture();
    /** What the thread runs beside its engine, as an event loop runs tasks. */
    private final Queue<Runnable> beside = new ConcurrentLinkedQueue<>();
    private VbnContext context;
    private VbnEngine engine;
    private Thread driver;

    @BeforeEach
    void start() throws Exception {
        context = fixture.context("self,shm,tcp");
        CompletableFuture<VbnEngine> made = new CompletableFuture<>();
        driver = new Thread(() -> drive(made), "driver");
        driver.start();
        engine = Fixture.get(made);
    }

    private void drive(CompletableFuture<VbnEngine> made) {
        try {
            VbnEngine mine = context.attachEngine("attached");
            made.complete(mine);
            while (mine.turn(LONG_NANOS)) {
                for (Runnable task = beside.poll(); task != null; task = beside.poll()) {
                    task.run();
                }
            }
        } catch (VbnException e) {
            made.completeExceptionally(e);
        }
    }

    @AfterEach
    void stop() throws Exception {
        fixture.close();
        awaitDriverEnds();
    }

    private void awaitDriverEnds() throws Exception {
        driver.join(Fixture.TIMEOUT_SECONDS * 1000);
        assertFalse(driver.isAlive(), "turn gives false when the engine is closed");
    }

    @ParameterizedTest
    @ValueSource(ints = {0, 100, 100_000, 5_000_003})
    void messages_go_both_ways(int size) throws Exception {
        Fixture.serveEcho(context, engine);
        VbnEngine other = context.startEngine("other");
        CompletableFuture<ByteBuffer> reply = new CompletableFuture<>();
        Fixture.onReplies(other, reply::complete);
        VbnPeer peer = other.connect(engine.address(), null);
        ByteBuffer data = Fixture.pattern(size, 3);
        other.send(peer, Fixture.ECHO, null, new ByteBuffer[] {data}, null);
        assertEquals(data, Fixture.get(reply));
        peer.close();
    }

    @Test
    void tasks_run_on_the_thread_that_drives() throws Exception {
        for (int i = 0; i < 1000; i++) {
            CompletableFuture<Thread> ran = new CompletableFuture<>();
            engine.execute(() -> ran.complete(Thread.currentThread()));
            assertEquals(driver, Fixture.get(ran));
        }
        assertFalse(engine.inEngine());
    }

    @Test
    void a_wake_up_ends_the_sleep_before_or_after_it_begins() throws Exception {
        for (int i = 0; i < 2000; i++) {
            CompletableFuture<Thread> ran = new CompletableFuture<>();
            beside.add(() -> ran.complete(Thread.currentThread()));
            engine.wake();
            assertEquals(driver, Fixture.get(ran));
        }
    }

    @Test
    void closing_it_elsewhere_ends_the_turns_and_fails_what_is_pending() throws Exception {
        VbnEngine deaf = context.startEngine("deaf");
        CompletableFuture<RemoteData> came = new CompletableFuture<>();
        deaf.onMessage(Fixture.ECHO, message -> came.complete(message.remote()));
        VbnPeer peer = engine.connect(deaf.address(), null);
        Fixture.Wait sent = new Fixture.Wait();
        engine.send(peer, Fixture.ECHO, null, new ByteBuffer[] {Fixture.pattern(10_000_000, 1)}, sent);
        Fixture.get(came);
        engine.close();
        assertEquals(VbnStatus.CLOSED, sent.failure().kind());
        awaitDriverEnds();
        engine.close();
        assertFalse(engine.turn(0), "also on another thread, once it is closed");
    }

    @Test
    void a_callback_may_close_it_and_cannot_drive_it() throws Exception {
        CompletableFuture<Throwable> refused = new CompletableFuture<>();
        engine.execute(() -> {
            try {
                engine.turn(0);
            } catch (IllegalStateException | VbnException e) {
                refused.complete(e);
            }
            engine.close();
        });
        assertInstanceOf(IllegalStateException.class, Fixture.get(refused));
        awaitDriverEnds();
    }

    @Test
    void no_other_thread_drives_it() throws Exception {
        String text = assertThrows(IllegalStateException.class, () -> engine.turn(0)).getMessage();
        assertTrue(text.contains("thread driver"), text);
        VbnEngine own = context.startEngine("own");
        assertThrows(IllegalStateException.class, () -> own.turn(0));
    }
}
