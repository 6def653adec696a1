// SPDX-License-Identifier: Apache-2.0
package org.verbena.hadoop.shuffle;

import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.junit.jupiter.api.Test;

class MergePlanTest {
    private static final int MAPS = 2000;
    private static final long SEGMENT = 1000;
    private static final long GROUP = MergePlan.GROUP * SEGMENT;

    @Test
    void a_job_with_few_maps_is_merged_at_the_end() {
        assertFalse(new MergePlan(MergePlan.FEW).allows(MergePlan.GROUP, GROUP, GROUP, Long.MAX_VALUE));
        assertTrue(new MergePlan(MergePlan.FEW + 1).allows(MergePlan.GROUP, GROUP, GROUP, Long.MAX_VALUE));
    }

    @Test
    void memory_that_further_map_outputs_want_is_left_to_them() {
        MergePlan plan = new MergePlan(MAPS);
        long expected = (MAPS - 100) * SEGMENT;
        assertTrue(plan.allows(100, 100 * SEGMENT, GROUP, GROUP + expected));
        assertFalse(plan.allows(100, 100 * SEGMENT, GROUP, GROUP + expected - 1));
        assertTrue(plan.allows(MAPS, MAPS * SEGMENT, GROUP, GROUP), "no more will come");
        assertFalse(plan.allows(MAPS, MAPS * SEGMENT, GROUP, GROUP - 1));
    }

    @Test
    void a_group_beyond_one_buffer_and_nothing_at_all_are_not_merged() {
        assertFalse(new MergePlan(MAPS).allows(MAPS, 1L << 40, 1L + Integer.MAX_VALUE, Long.MAX_VALUE));
        assertFalse(new MergePlan(MAPS).allows(0, 0, 0, Long.MAX_VALUE));
    }
}
