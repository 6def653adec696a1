// SPDX-License-Identifier: Apache-2.0
package org.apache.hadoop.ipc;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.concurrent.LinkedBlockingQueue;
import org.apache.hadoop.conf.Configuration;
import org.junit.jupiter.api.Test;

/** Threads that are woken and interrupted at once: the wake-up is another one's then. Each step happens where the test says. */
class WakeUpsTest {
    /** A caller without an answer; a step happens when it is parked, just before it sleeps. */
    private static final class Parked implements ReadTurn.Caller {
        private Runnable step;
        private boolean done;
        private int wakeUps;

        Parked(Runnable step) {
            this.step = step;
        }

        @Override
        public boolean isDone() {
            Runnable now = step;
            step = null;
            if (now != null) {
                now.run();
            }
            return done;
        }

        @Override
        public void wake() {
            wakeUps++;
        }
    }

    @Test
    void a_caller_that_is_interrupted_instead_of_reading_wakes_the_next_one() throws Exception {
        ReadTurn turn = new ReadTurn();
        assertTrue(turn.lead());
        Parked woken = new Parked(() -> {
            turn.leave();
            Thread.currentThread().interrupt();
        });
        Parked[] other = {null};
        other[0] = new Parked(() -> {
            assertThrows(InterruptedException.class, () -> turn.follow(woken));
            assertEquals(1, woken.wakeUps, "the reader that has left has woken it");
            other[0].done = true;
        });
        turn.follow(other[0]);
        assertEquals(1, other[0].wakeUps);
    }

    @Test
    void a_caller_that_is_interrupted_while_another_one_reads_wakes_nobody() throws Exception {
        ReadTurn turn = new ReadTurn();
        assertTrue(turn.lead());
        Parked interrupted = new Parked(() -> Thread.currentThread().interrupt());
        Parked[] other = {null};
        other[0] = new Parked(() -> {
            assertThrows(InterruptedException.class, () -> turn.follow(interrupted));
            other[0].done = true;
        });
        turn.follow(other[0]);
        assertEquals(0, other[0].wakeUps);
        assertFalse(turn.lead());
    }

    /** A queue of which a step happens when a handler has parked, just before it sleeps. */
    private static final class Turns extends HandlerTurns {
        private Runnable step;

        Turns() {
            super(new CallQueueManager<>(CallQueueManager.convertQueueClass(LinkedBlockingQueue.class, Server.Call.class),
                CallQueueManager.convertSchedulerClass(DefaultRpcScheduler.class), false, 2, "test", new Configuration(false)),
                channel -> { });
        }

        @Override
        public int size() {
            Runnable now = step;
            step = null;
            if (now != null) {
                now.run();
            }
            return super.size();
        }
    }

    @Test
    void a_handler_that_is_interrupted_instead_of_taking_a_call_wakes_the_next_one() {
        Turns turns = new Turns();
        turns.parked.add(new HandlerTurns.Turn());
        Server.Call call = new Server.Call();
        turns.step = () -> {
            assertEquals(2, turns.parked.size());
            turns.add(call);
            assertEquals(1, turns.parked.size(), "this handler is woken");
            Thread.currentThread().interrupt();
        };
        assertThrows(InterruptedException.class, turns::take);
        assertTrue(turns.parked.isEmpty(), "the other handler is woken");
        assertEquals(call, turns.poll());
    }
}
