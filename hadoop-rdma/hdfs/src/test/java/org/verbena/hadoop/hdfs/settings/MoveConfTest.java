// SPDX-License-Identifier: Apache-2.0
package org.verbena.hadoop.hdfs.settings;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import org.apache.hadoop.conf.Configuration;
import org.junit.jupiter.api.Test;
import org.verbena.hadoop.hdfs.settings.MoveConf.Persist;

class MoveConfTest {
    private static MoveConf of(String... pairs) {
        Configuration conf = new Configuration(false);
        for (int i = 0; i < pairs.length; i += 2) {
            conf.set("verbena.hdfs.memory." + pairs[i], pairs[i + 1]);
        }
        return MoveConf.of(conf);
    }

    private static String refusal(String... pairs) {
        return assertThrows(IllegalArgumentException.class, () -> of(pairs)).getMessage();
    }

    @Test
    void blocks_leave_memory_at_nine_tenths_and_come_back_after_three_reads_by_default() {
        assertEquals(new MoveConf(Persist.OFF, 90, 80, 3), of());
        assertEquals(new MoveConf(Persist.SYNC, 100, 100, 0), of("persist", "sync", "high", "100", "low", "100", "promote", "0"));
    }

    @Test
    void the_low_mark_follows_a_high_one_below_it_and_is_refused_above_it() {
        assertEquals(new MoveConf(Persist.OFF, 50, 50, 3), of("high", "50"));
        assertEquals("verbena.hdfs.memory.low=60 is not possible; give at most verbena.hdfs.memory.high, which is 50",
            refusal("high", "50", "low", "60"));
        assertEquals("verbena.hdfs.memory.persist=later is not possible; give off or async or sync", refusal("persist", "later"));
    }
}
