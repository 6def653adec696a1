// SPDX-License-Identifier: Apache-2.0
package org.verbena.core.plugin;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.junit.jupiter.api.Test;

class StreamBudgetTest {
    private static final long MIB = 1 << 20;

    @Test
    void theLeastOfContainerHeapAndDirectMemoryDecides() {
        assertEquals(72 * MIB, StreamBudget.bytes(1024 * MIB, 512 * MIB, 512 * MIB), "a quarter of 1024 - 512 - 32 - 192");
        assertEquals(512 * MIB, StreamBudget.bytes(65536 * MIB, 1024 * MIB, 1024 * MIB), "half of direct memory");
        assertEquals(32 * MIB, StreamBudget.bytes(65536 * MIB, 1024 * MIB, 64 * MIB));
        assertEquals(16 * MIB, StreamBudget.bytes(1024 * MIB, 1024 * MIB, 1024 * MIB), "never none");
    }

    @Test
    void theSentenceForTheLogTellsTheBoundOfTheBudget() {
        assertEquals(StreamBudget.bytes(), StreamBudget.shared().bound());
        assertTrue(StreamBudget.words().startsWith("streams hold at most " + StreamBudget.bytes() / MIB + " MiB outside the heap"),
            StreamBudget.words());
    }
}
