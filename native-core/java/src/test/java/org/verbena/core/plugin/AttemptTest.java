// SPDX-License-Identifier: Apache-2.0
package org.verbena.core.plugin;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Time passes when a test says so. */
@Timeout(60)
class AttemptTest {
    private static final long WAIT = 5000;
    private static final long SILENCE = 250;

    private final Map<Long, Runnable> timers = new TreeMap<>();
    private final Attempt attempt = new Attempt(WAIT, timers::put);

    private boolean decided() {
        return attempt.decided().isDone();
    }

    @Test
    void who_does_not_answer_is_waited_for_a_twentieth_of_the_time() {
        assertEquals(List.of(WAIT), List.copyOf(timers.keySet()), "nobody is asked yet");
        attempt.asks();
        assertEquals(List.of(SILENCE, WAIT), List.copyOf(timers.keySet()));
        assertFalse(decided());
        timers.get(SILENCE).run();
        assertTrue(attempt.isSilent());
        attempt.await();
    }

    @Test
    void who_has_answered_is_waited_for_all_of_the_time() {
        attempt.asks();
        attempt.answered();
        timers.get(SILENCE).run();
        assertFalse(decided());
        assertFalse(attempt.isSilent());
        timers.get(WAIT).run();
        attempt.await();
    }

    @Test
    void each_question_has_its_time() {
        attempt.asks();
        Runnable first = timers.get(SILENCE);
        attempt.asks();
        first.run();
        assertFalse(decided());
        timers.get(SILENCE).run();
        assertTrue(attempt.isSilent());
        attempt.asks();
        assertFalse(decided());
        timers.get(SILENCE).run();
        attempt.await();
    }

    @Test
    void who_answers_late_is_waited_for_again() {
        attempt.asks();
        timers.get(SILENCE).run();
        attempt.answered();
        assertFalse(decided());
        timers.get(WAIT).run();
        attempt.await();
        attempt.answered();
        attempt.await();
    }

    @Test
    void what_this_process_does_before_it_asks_is_waited_for() {
        assertFalse(decided());
        attempt.end();
        assertFalse(attempt.isSilent());
        attempt.await();
    }

    @Test
    void with_no_time_nobody_waits() {
        new Attempt(0).await();
    }

    @Test
    void an_interrupt_ends_the_wait_and_stays() {
        Thread.currentThread().interrupt();
        attempt.await();
        assertTrue(Thread.interrupted());
        assertFalse(decided());
    }

    @Test
    void the_real_timer_runs_both() {
        Attempt silent = new Attempt(600_000);
        silent.asks();
        assertTrue(silent.leftMillis() > 0);
        Attempt shortly = new Attempt(1);
        shortly.asks();
        shortly.answered();
        shortly.await();
        assertEquals(0, shortly.leftMillis());
        silent.end();
    }
}
