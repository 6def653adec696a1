// SPDX-License-Identifier: Apache-2.0
package org.verbena.core;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(60)
class StageTest {
    @Test
    void items_are_worked_off_in_order_and_close_waits_for_them() throws Exception {
        List<Integer> done = new CopyOnWriteArrayList<>();
        Stage<Integer> stage = new Stage<>("stage", 10, done::add, (item, error) -> { });
        for (int i = 0; i < 100; i++) {
            assertTrue(stage.offer(i, 20, TimeUnit.SECONDS));
        }
        stage.close();
        assertEquals(IntStream.range(0, 100).boxed().toList(), done);
        assertEquals(100, stage.finished());
        assertFalse(stage.offer(1, 1, TimeUnit.SECONDS));
    }

    @Test
    void a_full_stage_pushes_back() throws Exception {
        CountDownLatch release = new CountDownLatch(1);
        CountDownLatch busy = new CountDownLatch(1);
        Stage<Integer> stage = new Stage<>("stage", 2, item -> {
            busy.countDown();
            try {
                release.await(30, TimeUnit.SECONDS);
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
            }
        }, (item, error) -> { });
        assertTrue(stage.offer(0, 1, TimeUnit.SECONDS));
        assertTrue(busy.await(30, TimeUnit.SECONDS));
        assertTrue(stage.offer(1, 1, TimeUnit.SECONDS));
        assertTrue(stage.offer(2, 1, TimeUnit.SECONDS));
        assertFalse(stage.offer(3, 20, TimeUnit.MILLISECONDS));
        assertEquals(2, stage.waiting());
        release.countDown();
        stage.close();
        assertEquals(3, stage.finished());
    }

    @Test
    void an_item_that_interrupts_its_thread_ends_no_other() throws Exception {
        List<Boolean> interrupted = new CopyOnWriteArrayList<>();
        Stage<Integer> stage = new Stage<>("stage", 4, item -> {
            interrupted.add(Thread.currentThread().isInterrupted());
            Thread.currentThread().interrupt();
        }, (item, error) -> { });
        for (int i = 1; i <= 3; i++) {
            assertTrue(stage.offer(i, 30, TimeUnit.SECONDS), "item " + i);
            int items = i;
            Fixture.await("item " + i + " to end", () -> stage.finished() >= items);
        }
        stage.close();
        assertEquals(List.of(false, false, false), interrupted);
    }

    @Test
    void work_that_throws_is_reported_and_the_next_item_follows() throws Exception {
        List<String> failures = new CopyOnWriteArrayList<>();
        Stage<String> stage = new Stage<>("stage", 4, item -> {
            if (item.equals("bad")) {
                throw new IllegalStateException("no");
            }
        }, (item, error) -> failures.add(item + " " + error.getMessage()));
        assertTrue(stage.offer("bad", 1, TimeUnit.SECONDS));
        assertTrue(stage.offer("good", 1, TimeUnit.SECONDS));
        stage.close();
        assertEquals(List.of("bad no"), failures);
        assertEquals(2, stage.finished());
    }

    @Test
    void a_report_of_a_failure_that_throws_ends_no_other_item() throws Exception {
        List<String> done = new CopyOnWriteArrayList<>();
        Stage<String> stage = new Stage<>("stage", 4, item -> {
            if (item.equals("bad")) {
                throw new IllegalStateException("no");
            }
            done.add(item);
        }, (item, error) -> {
            throw new IllegalStateException("the report, too");
        });
        assertTrue(stage.offer("bad", 30, TimeUnit.SECONDS));
        assertTrue(stage.offer("good", 30, TimeUnit.SECONDS));
        stage.close();
        assertEquals(List.of("good"), done);
    }
}
