// SPDX-License-Identifier: Apache-2.0
package org.verbena.core.plugin;

import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;

class FailedStartTest {
    @Test
    void each_further_failure_holds_twice_as_long_up_to_eight_minutes() {
        FailedStart start = new FailedStart();
        long now = -7;
        for (int seconds : new int[] {30, 60, 120, 240, 480, 480}) {
            start.failed(new IOException("again"), now);
            now += TimeUnit.SECONDS.toNanos(seconds);
            assertTrue(start.isTooEarly(now - 1), seconds + " s");
            assertFalse(start.isTooEarly(now), seconds + " s");
        }
    }

    @Test
    void a_failure_is_repeated_for_half_a_minute_and_then_forgotten() throws Exception {
        long now = -7; // times of System.nanoTime may be negative
        long later = now + TimeUnit.SECONDS.toNanos(30);
        FailedStart start = new FailedStart();
        start.check(now);
        IOException cause = start.failed(new IOException("no descriptors left"), now);
        assertSame(cause, assertThrows(IOException.class, () -> start.check(later - 1)));
        start.check(later);
        start.check(now);
    }
}
