// SPDX-License-Identifier: Apache-2.0
package org.verbena.core.plugin;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

class PullQueueTest {
    private static final long HALF = PullQueue.WINDOW / 2;

    private final PullQueue queue = new PullQueue();
    private final List<Integer> started = new ArrayList<>();

    private void add(int number, long bytes) {
        queue.add(bytes, () -> started.add(number));
    }

    @Test
    void smallOnesGoTogetherUntilTheWindowIsFull() {
        for (int i = 0; i < 4; i++) {
            add(i, HALF);
        }
        assertEquals(List.of(0, 1), started);
        queue.ended(HALF);
        assertEquals(List.of(0, 1, 2), started);
        queue.ended(HALF);
        queue.ended(HALF);
        assertEquals(List.of(0, 1, 2, 3), started);
    }

    @Test
    void oneThatIsLargerThanTheWindowGoesAlone() {
        add(0, 10 * PullQueue.WINDOW);
        add(1, 10 * PullQueue.WINDOW);
        add(2, 1);
        assertEquals(List.of(0), started);
        queue.ended(10 * PullQueue.WINDOW);
        assertEquals(List.of(0, 1), started);
        queue.ended(10 * PullQueue.WINDOW);
        assertEquals(List.of(0, 1, 2), started);
    }

    @Test
    void onesThatEndWithinTheirStartNeedNoStack() {
        int many = 100_000;
        add(0, PullQueue.WINDOW);
        for (int i = 1; i <= many; i++) {
            int number = i;
            queue.add(PullQueue.WINDOW, () -> {
                started.add(number);
                queue.ended(PullQueue.WINDOW);
            });
        }
        assertEquals(List.of(0), started);
        queue.ended(PullQueue.WINDOW);
        assertEquals(many + 1, started.size());
        assertEquals(many, started.get(many));
    }
}
