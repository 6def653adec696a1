// SPDX-License-Identifier: Apache-2.0
package org.verbena.netty;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.netty.buffer.ByteBuf;
import io.netty.channel.Channel;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.SimpleChannelInboundHandler;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;

/** Threads that send by themselves, and drive the loop while they wait. */
@ExtendWith(TestWatch.class)
class SharedLoopTest {
    private static final int ROUNDS = 2000;
    private static final int THREADS = 6;
    private static final long WAIT_NANOS = TimeUnit.SECONDS.toNanos(Rig.SECONDS);

    private Rig rig;
    private Channel server;
    private final Set<Thread> readers = ConcurrentHashMap.newKeySet();

    @BeforeEach
    void start() throws Exception {
        rig = new Rig("self,shm" + Rig.SHARED);
        server = rig.bind(VbnAddress.local(0), Echo::new);
    }

    @AfterEach
    void stop() {
        rig.close();
    }

    /** One channel, whose user writes a byte and waits for it again and again. */
    private final class Caller extends SimpleChannelInboundHandler<ByteBuf> {
        private final AtomicInteger answered = new AtomicInteger();
        private volatile Thread waiting;
        private VbnChannel channel;

        Caller connect() throws Exception {
            channel = rig.connect(server.localAddress(), this);
            return this;
        }

        VbnEventLoop loop() {
            return (VbnEventLoop) channel.eventLoop();
        }

        @Override
        protected void channelRead0(ChannelHandlerContext context, ByteBuf bytes) {
            assertTrue(context.executor().inEventLoop());
            readers.add(Thread.currentThread());
            answered.addAndGet(bytes.readableBytes());
            loop().unpark(waiting);
        }

        void write() {
            boolean entered = loop().enter();
            try {
                assertTrue(!entered || loop().inEventLoop());
                channel.writeAndFlush(channel.alloc().buffer(1).writeByte(1));
            } finally {
                if (entered) {
                    loop().leave();
                }
            }
        }

        void call(int round) {
            waiting = Thread.currentThread();
            write();
            long end = System.nanoTime() + WAIT_NANOS;
            while (answered.get() < round && System.nanoTime() < end) {
                loop().park(() -> answered.get() >= round, WAIT_NANOS);
            }
        }
    }

    @Test
    void a_caller_receives_its_own_answers() throws Exception {
        Caller caller = new Caller().connect();
        for (int i = 1; i <= ROUNDS; i++) {
            caller.call(i);
        }
        assertEquals(ROUNDS, caller.answered.get());
        assertTrue(readers.contains(Thread.currentThread()));
        assertFalse(caller.loop().inEventLoop());
    }

    @Test
    void many_callers_take_turns() throws Exception {
        List<Caller> callers = new ArrayList<>();
        List<Thread> threads = new ArrayList<>();
        for (int i = 0; i < THREADS; i++) {
            Caller caller = new Caller().connect();
            callers.add(caller);
            threads.add(new Thread(() -> {
                for (int round = 1; round <= ROUNDS; round++) {
                    caller.call(round);
                }
            }));
        }
        threads.forEach(Thread::start);
        for (Thread thread : threads) {
            thread.join(TimeUnit.SECONDS.toMillis(Rig.SECONDS));
        }
        callers.forEach(caller -> assertEquals(ROUNDS, caller.answered.get()));
    }

    @Test
    void tasks_and_timers_run_while_a_caller_waits() throws Exception {
        Caller caller = new Caller().connect();
        caller.call(1);
        AtomicInteger ran = new AtomicInteger();
        Thread waiter = new Thread(() -> caller.loop().park(() -> ran.get() > ROUNDS, WAIT_NANOS));
        waiter.start();
        for (int i = 0; i < ROUNDS; i++) {
            CountDownLatch done = new CountDownLatch(1);
            Runnable task = () -> {
                ran.incrementAndGet();
                done.countDown();
            };
            if (i % 100 == 0) {
                caller.loop().schedule(task, 3, TimeUnit.MILLISECONDS);
            } else {
                caller.loop().execute(task);
            }
            assertTrue(done.await(Rig.SECONDS, TimeUnit.SECONDS));
        }
        ran.incrementAndGet();
        caller.loop().unpark(waiter);
        waiter.join(TimeUnit.SECONDS.toMillis(Rig.SECONDS));
        assertFalse(waiter.isAlive());
    }

    @Test
    void who_waits_when_the_loop_ends_is_let_go() throws Exception {
        Caller caller = new Caller().connect();
        CountDownLatch gone = new CountDownLatch(1);
        caller.channel.closeFuture().addListener(closed -> gone.countDown());
        Thread waiter = new Thread(() -> {
            while (gone.getCount() > 0) {
                caller.loop().park(() -> gone.getCount() == 0, WAIT_NANOS);
            }
        });
        waiter.start();
        caller.write();
        Rig.end(rig.clients);
        waiter.join(TimeUnit.SECONDS.toMillis(Rig.SECONDS));
        assertFalse(waiter.isAlive());
        assertFalse(caller.loop().enter());
    }
}
