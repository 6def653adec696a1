// SPDX-License-Identifier: Apache-2.0
package org.verbena.core.plugin;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.io.IOException;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Queue;
import org.junit.jupiter.api.Test;

/** Time passes when a test says so. */
class RepeatedStartTest {
    private final List<String> said = new ArrayList<>();
    private final List<Long> pauses = new ArrayList<>();
    private Runnable next;
    private int tries;

    /** Each try fails for the next of these reasons, and works when there is none left. */
    private RepeatedStart start(String... reasons) {
        Queue<String> left = new ArrayDeque<>(Arrays.asList(reasons));
        return new RepeatedStart(() -> {
            tries++;
            if (!left.isEmpty()) {
                throw new IOException(left.poll());
            }
        }, said::add, (seconds, task) -> {
            pauses.add(seconds);
            next = task;
        });
    }

    private boolean later() {
        Runnable due = next;
        next = null;
        if (due != null) {
            due.run();
        }
        return due != null;
    }

    @Test
    void what_works_is_started_once() {
        start().attempt();
        assertEquals(1, tries);
        assertEquals(List.of(), pauses);
    }

    @Test
    void what_fails_is_tried_again_less_and_less_often_until_it_works() {
        start("a", "a", "a", "a", "a", "a").attempt();
        while (later()) {
            continue;
        }
        assertEquals(7, tries);
        assertEquals(List.of(30L, 60L, 120L, 240L, 480L, 480L), pauses);
    }

    @Test
    void a_reason_is_said_once() {
        start("no key", "no key", "the port is taken", "the port is taken", "no key").attempt();
        while (later()) {
            continue;
        }
        assertEquals(List.of("no key", "the port is taken", "no key"), said);
    }

    @Test
    void after_its_end_nothing_is_started() {
        RepeatedStart start = start("not yet");
        start.attempt();
        start.close();
        later();
        assertEquals(1, tries);
    }

    @Test
    void what_can_never_work_is_not_tried_again() {
        RepeatedStart start = new RepeatedStart(() -> {
            if (tries++ == 0) {
                throw new IOException("not yet");
            }
            throw new NoSuchMethodError("another Hadoop");
        }, said::add, (seconds, task) -> next = task);
        start.attempt();
        later();
        later();
        assertEquals(2, tries);
        assertEquals(List.of("not yet", "another Hadoop"), said);
        assertThrows(NoSuchMethodError.class, start::attempt, "the first one is the caller's");
    }
}
