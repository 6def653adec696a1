// SPDX-License-Identifier: Apache-2.0
package org.verbena.hbase;

import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.junit.jupiter.api.Test;

/** Which reads run on a loop, as their times and the loop's decide. */
class InlineTest {
    private static final long MICRO = 1000;
    private static final long SECOND = 1_000_000_000;

    @Test
    void short_reads_are_admitted_until_their_average_is_too_high_and_a_second_later_again() {
        ReadCost cost = new ReadCost(200 * MICRO);
        long now = -5; // times of System.nanoTime may be negative
        for (int i = 0; i < 100; i++) {
            assertTrue(cost.admits(now));
            cost.add(100 * MICRO, now);
        }
        int longer = 0;
        while (cost.admits(now)) {
            cost.add(1000 * MICRO, now);
            longer++;
        }
        assertTrue(longer >= 1 && longer <= 3, longer + " reads of 1 ms");
        assertFalse(cost.admits(now + SECOND - 1));
        assertTrue(cost.admits(now + SECOND));
        cost.add(100 * MICRO, now + SECOND);
        assertTrue(cost.admits(now + SECOND));
    }

    @Test
    void one_read_from_a_disk_is_enough() {
        ReadCost cost = new ReadCost(200 * MICRO);
        cost.add(5000 * MICRO, 0);
        assertFalse(cost.admits(0));
    }

    @Test
    void a_loop_gives_half_of_its_time() {
        LoopBudget budget = new LoopBudget();
        long now = 7 * SECOND;
        int admitted = 0;
        for (int i = 0; i < 1000; i++, now += 10 * MICRO) { // 10 ms, in which reads of 10 us come without a break
            if (budget.admits(now)) {
                budget.add(10 * MICRO);
                admitted++;
            }
        }
        assertTrue(admitted >= 490 && admitted <= 560, admitted + " of 1000");
        assertTrue(budget.admits(now + SECOND));
    }
}
