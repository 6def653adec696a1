// SPDX-License-Identifier: Apache-2.0
package org.verbena.core.plugin;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.util.Map;
import org.junit.jupiter.api.Test;

class PathCountsTest {
    private enum Reason { CONNECTING, NOT_ANSWERED }

    @Test
    void what_went_by_which_path_is_counted_by_reason() {
        PathCounts<Reason> counts = new PathCounts<>("calls", Reason.class);
        assertEquals("0 calls by the core and 0 by TCP (0 connecting, 0 not answered)", counts.sentence());
        counts.countCore();
        counts.countTcp(Reason.CONNECTING);
        counts.countTcp(Reason.NOT_ANSWERED);
        counts.countTcp(Reason.NOT_ANSWERED);
        assertEquals("1 calls by the core and 3 by TCP (1 connecting, 2 not answered)", counts.sentence());
        assertEquals(Map.of("calls.core", 1L, "calls.tcp.connecting", 1L, "calls.tcp.not_answered", 2L), counts.numbers());
    }
}
