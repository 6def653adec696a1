// SPDX-License-Identifier: Apache-2.0
package org.verbena.core;

import java.util.concurrent.TimeUnit;
import org.openjdk.jcstress.annotations.Actor;
import org.openjdk.jcstress.annotations.Arbiter;
import org.openjdk.jcstress.annotations.Expect;
import org.openjdk.jcstress.annotations.JCStressTest;
import org.openjdk.jcstress.annotations.Outcome;
import org.openjdk.jcstress.annotations.State;
import org.openjdk.jcstress.infra.results.II_Result;
import org.openjdk.jcstress.infra.results.I_Result;

/** Reference counts of chunks and the queue of stages, under jcstress: {@link StressTest} runs it. */
public class SharedStateStress {
    /** The last reference is dropped exactly once, whoever takes and drops others meanwhile. */
    @JCStressTest
    @Outcome(id = "1, 0", expect = Expect.ACCEPTABLE, desc = "freed once, and not used afterwards")
    @Outcome(expect = Expect.FORBIDDEN, desc = "freed too early, twice or never")
    @State
    public static class LastReference {
        private final ReferenceCount references = new ReferenceCount();
        private volatile boolean freed;
        private int freedByHolder;
        private int freedByBorrower;
        private int usedAfterFree;

        @Actor
        public void holder() {
            if (references.release() == 0) {
                freedByHolder++;
                freed = true;
            }
        }

        @Actor
        public void borrower() {
            if (references.retain()) {
                usedAfterFree += freed ? 1 : 0;
                if (references.release() == 0) {
                    freedByBorrower++;
                    freed = true;
                }
            }
        }

        @Arbiter
        public void result(II_Result r) {
            r.r1 = freedByHolder + freedByBorrower;
            r.r2 = usedAfterFree;
        }
    }

    /** An item that a stage's queue took while it was being closed is given out before the end. */
    @JCStressTest
    @Outcome(id = "0", expect = Expect.ACCEPTABLE, desc = "taken and given out, or refused")
    @Outcome(expect = Expect.FORBIDDEN, desc = "taken and left behind")
    @State
    public static class ClosedStage {
        private final ClosingQueue<Integer> queue = new ClosingQueue<>(1, 0);
        private int taken;
        private int given;

        @Actor
        public void producer() {
            try {
                taken += queue.offer(1, 0, TimeUnit.NANOSECONDS) ? 1 : 0;
            } catch (InterruptedException e) {
                taken = 100;
            }
        }

        @Actor
        public void consumer() {
            queue.close();
            try {
                while (queue.take() != null) {
                    given++;
                }
            } catch (InterruptedException e) {
                given = 100;
            }
        }

        @Arbiter
        public void result(I_Result r) {
            r.r1 = taken - given;
        }
    }
}
