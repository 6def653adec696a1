// SPDX-License-Identifier: Apache-2.0
package org.verbena.core;

import java.util.concurrent.atomic.AtomicInteger;
import org.openjdk.jcstress.annotations.Actor;
import org.openjdk.jcstress.annotations.Arbiter;
import org.openjdk.jcstress.annotations.Expect;
import org.openjdk.jcstress.annotations.JCStressTest;
import org.openjdk.jcstress.annotations.Outcome;
import org.openjdk.jcstress.annotations.State;
import org.openjdk.jcstress.infra.results.II_Result;
import org.openjdk.jcstress.infra.results.I_Result;
import org.openjdk.jcstress.infra.results.ZZ_Result;

/** The way into an engine, under jcstress: {@link StressTest} runs it. */
public class EngineQueueStress {
    /** An engine without a thread of its own: the actors play it. */
    static class TestOwner implements EngineQueue.Owner {
        final SleepFlag asleep = new SleepFlag();
        final AtomicInteger failed = new AtomicInteger();
        volatile boolean terminated;
        boolean woken;

        @Override
        public boolean isTerminated() {
            return terminated;
        }

        @Override
        public void wakeIfAsleep() {
            woken = asleep.mustWake();
        }

        @Override
        public void fail(Operation op, VbnStatus status, String text) {
            failed.incrementAndGet();
        }

        @Override
        public String name() {
            return "stress";
        }
    }

    /** No wake-up is lost: a consumer that found the queue empty after raising its flag is woken. */
    @JCStressTest
    @Outcome(id = "false, true", expect = Expect.FORBIDDEN, desc = "sleeps over work, nobody wakes it")
    @Outcome(expect = Expect.ACCEPTABLE, desc = "seen or woken")
    @State
    public static class WakeUp {
        private final TestOwner owner = new TestOwner();
        private final EngineQueue queue = new EngineQueue(owner, 2, 0);

        @Actor
        public void producer(ZZ_Result r) {
            queue.offer(this);
            r.r1 = owner.woken;
        }

        @Actor
        public void consumer(ZZ_Result r) {
            owner.asleep.raise();
            r.r2 = queue.isEmpty();
        }
    }

    /** The same for operations that found the queue full. */
    @JCStressTest
    @Outcome(id = "false, true", expect = Expect.FORBIDDEN, desc = "sleeps over a refusal, nobody wakes it")
    @Outcome(expect = Expect.ACCEPTABLE, desc = "seen or woken")
    @State
    public static class WakeUpForRefusal {
        private final TestOwner owner = new TestOwner();
        private final EngineQueue queue = new EngineQueue(owner, 2, 0);

        @Actor
        public void producer(ZZ_Result r) {
            queue.refuse(new Operation());
            r.r1 = owner.woken;
        }

        @Actor
        public void consumer(ZZ_Result r) {
            owner.asleep.raise();
            r.r2 = queue.isEmpty();
        }
    }

    /** A full queue refuses; what it took comes out, once and in order. r1: taken but not given; r2: out of order. */
    @JCStressTest
    @Outcome(id = "0, 0", expect = Expect.ACCEPTABLE, desc = "all that was taken was given out in order")
    @Outcome(expect = Expect.FORBIDDEN, desc = "lost, doubled or disordered")
    @State
    public static class Bounded {
        private final EngineQueue queue = new EngineQueue(new TestOwner(), 2, 0);
        private int taken;
        private int given;
        private int last;
        private int disordered;

        @Actor
        public void producer() {
            for (int i = 1; i <= 4; i++) {
                taken += queue.offer(i) ? 1 : 0;
            }
        }

        @Actor
        public void consumer() {
            give();
            give();
        }

        private boolean give() {
            Integer item = (Integer) queue.poll();
            if (item == null) {
                return false;
            }
            given++;
            disordered += item <= last ? 1 : 0;
            last = item;
            return true;
        }

        @Arbiter
        public void rest(II_Result r) {
            while (give()) {
                // until it is empty
            }
            r.r1 = taken - given;
            r.r2 = disordered;
        }
    }

    /** When the engine ends while an operation comes in, the operation is refused or failed, exactly once. */
    @JCStressTest
    @Outcome(id = "1", expect = Expect.ACCEPTABLE, desc = "completed once")
    @Outcome(expect = Expect.FORBIDDEN, desc = "left behind or completed twice")
    @State
    public static class EndOfEngine {
        private final TestOwner owner = new TestOwner();
        private final EngineQueue queue = new EngineQueue(owner, 2, 0);

        @Actor
        public void producer() {
            if (!queue.offer(new Operation())) {
                owner.failed.incrementAndGet();
            }
        }

        @Actor
        public void engine() {
            owner.terminated = true;
            queue.refuseAll();
        }

        @Arbiter
        public void result(I_Result r) {
            r.r1 = owner.failed.get();
        }
    }
}
