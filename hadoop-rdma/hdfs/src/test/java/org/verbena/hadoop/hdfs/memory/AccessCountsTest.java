// SPDX-License-Identifier: Apache-2.0
package org.verbena.hadoop.hdfs.memory;

import static org.junit.jupiter.api.Assertions.assertEquals;

import org.junit.jupiter.api.Test;

class AccessCountsTest {
    private static final long HALF_LIFE = 600_000;
    private static final double NEARLY = 1e-9;

    private long now;
    private final AccessCounts counts = new AccessCounts(() -> now);

    @Test
    void uses_add_up_and_half_of_them_are_left_after_ten_minutes() {
        assertEquals(1, counts.use("a"), NEARLY);
        assertEquals(2, counts.use("a"), NEARLY);
        now += HALF_LIFE;
        assertEquals(1, counts.of("a"), NEARLY);
        assertEquals(2, counts.use("a"), NEARLY);
        assertEquals(0, counts.of("b"), NEARLY);
    }

    @Test
    void blocks_that_nobody_uses_are_forgotten_and_never_too_many_remembered() {
        for (int block = 0; block < 70_000; block++) {
            counts.use("block" + block);
        }
        assertEquals(65_536, counts.size());
        now += 7 * HALF_LIFE;
        counts.use("block1");
        counts.prune();
        assertEquals(1, counts.size());
        assertEquals(1, counts.of("block1"), 0.1);
    }
}
