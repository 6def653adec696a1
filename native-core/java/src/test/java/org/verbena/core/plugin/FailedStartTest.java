// SPDX-License-Identifier: Apache-2.0
package org.verbena.core.plugin;

import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.io.IOException;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;

class FailedStartTest {
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
