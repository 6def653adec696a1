// SPDX-License-Identifier: Apache-2.0
package org.verbena.hadoop.shuffle;

import static org.junit.jupiter.api.Assertions.assertEquals;

import org.junit.jupiter.api.Test;
import org.verbena.hadoop.shuffle.SourceChoice.Source;

class SourceChoiceTest {
    private static int shared(SourceChoice choice, int times) {
        int count = 0;
        for (int i = 0; i < times; i++) {
            count += choice.next() == Source.SHARED ? 1 : 0;
        }
        return count;
    }

    @Test
    void each_source_is_tried_and_then_the_faster_one_is_taken_but_for_one_time_in_twenty() {
        SourceChoice choice = new SourceChoice(null);
        assertEquals(Source.CORE, choice.next());
        choice.measured(Source.CORE, 1000, 1000);
        assertEquals(Source.SHARED, choice.next());
        choice.measured(Source.SHARED, 2000, 1000);
        assertEquals(95, shared(choice, 100));
        for (int i = 0; i < 20; i++) {
            choice.measured(Source.SHARED, 10, 1000);
        }
        assertEquals(5, shared(choice, 100));
    }

    @Test
    void a_setting_fixes_the_source_whatever_is_measured() {
        SourceChoice core = new SourceChoice(Source.CORE);
        core.measured(Source.SHARED, Long.MAX_VALUE / 2, 1);
        core.measured(Source.CORE, 0, 0);
        assertEquals(0, shared(core, 100));
        assertEquals(100, shared(new SourceChoice(Source.SHARED), 100));
    }
}
