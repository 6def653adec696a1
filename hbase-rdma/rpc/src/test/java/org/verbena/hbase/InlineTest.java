// SPDX-License-Identifier: Apache-2.0
package org.verbena.hbase;

import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.junit.jupiter.api.Test;

/** Which reads run on a loop, as their times and the loop's decide. */
class InlineTest {
    private static final long MICRO = 1000;
    private static final long SECOND = 1_000_000_000;

    private static final long MOST = 200 * MICRO;

    /** A region whose reads have been short at handlers. */
    private static ReadCost trusted(long now) {
        ReadCost cost = new ReadCost(MOST);
        for (int i = 0; i < ReadCost.TRIALS; i++) {
            assertFalse(cost.admits(now), "read " + i);
            cost.handled(100 * MICRO, now);
        }
        assertTrue(cost.admits(now));
        return cost;
    }

    @Test
    void the_first_reads_of_a_region_go_to_handlers_and_decide() {
        ReadCost cost = new ReadCost(MOST);
        for (int i = 0; i < 100; i++) {
            assertFalse(cost.admits(SECOND));
            cost.handled(i % 2 == 0 ? 100 * MICRO : MOST + 1, SECOND); // never enough in a row
        }
        trusted(SECOND);
    }

    @Test
    void a_region_that_has_rested_goes_to_handlers_again() {
        ReadCost cost = trusted(0);
        assertTrue(cost.admits(5 * SECOND - 1));
        cost.add(100 * MICRO, 5 * SECOND - 1);
        assertTrue(cost.admits(9 * SECOND));
        assertFalse(cost.admits(10 * SECOND));
        cost.handled(100 * MICRO, 10 * SECOND);
        assertFalse(cost.admits(10 * SECOND), "one is not enough");
        for (int i = 1; i < ReadCost.TRIALS; i++) {
            cost.handled(100 * MICRO, 10 * SECOND);
        }
        assertTrue(cost.admits(10 * SECOND));
    }

    @Test
    void short_reads_are_admitted_until_their_average_is_too_high_and_then_handlers_decide_again() {
        long now = -5; // times of System.nanoTime may be negative
        ReadCost cost = trusted(now);
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
        for (int i = 0; i < ReadCost.TRIALS; i++) {
            assertFalse(cost.admits(now));
            cost.handled(100 * MICRO, now + SECOND - 1);
        }
        assertFalse(cost.admits(now + SECOND - 1));
        assertTrue(cost.admits(now + SECOND));
        cost.add(100 * MICRO, now + SECOND);
        assertTrue(cost.admits(now + SECOND));
    }

    @Test
    void one_read_from_a_disk_is_enough() {
        ReadCost cost = trusted(0);
        cost.add(5000 * MICRO, 0);
        assertFalse(cost.admits(0));
        assertFalse(cost.admits(SECOND));
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
