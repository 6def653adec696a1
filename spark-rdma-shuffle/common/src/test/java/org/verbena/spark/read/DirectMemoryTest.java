// SPDX-License-Identifier: Apache-2.0
package org.verbena.spark.read;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.junit.jupiter.api.Test;

class DirectMemoryTest {
    private static final long MIB = 1 << 20;

    private static long limit(long direct, long heap, long memory) {
        return DirectMemory.limit(direct * MIB, heap * MIB, memory * MIB) / MIB;
    }

    @Test
    void theLeastOfJvmAndContainerIsTheLimit() {
        assertEquals(8192, limit(8192, 8192, 65536), "as large as the heap");
        assertEquals(512, limit(512, 8192, 65536), "as set");
        assertEquals(819, limit(8192, 8192, 9011), "Spark's default overhead");
        assertEquals(819, limit(4096, 8192, 9011));
        assertEquals(64, limit(8192, 8192, 8000), "a heap that fills the container");
        assertTrue(DirectMemory.limit() > 0);
    }

    private static BufferBounds bounds(int slots, long inFlight, long direct) {
        BufferBounds bytes = BufferBounds.of(slots, inFlight * MIB, direct * MIB);
        return new BufferBounds(bytes.blocks() / MIB, bytes.replies() / MIB, bytes.lists() / MIB, bytes.cut());
    }

    @Test
    void buffersAreWhatTasksNeedAndNoMoreThanTheJvmMayHave() {
        assertEquals(new BufferBounds(128, 48, 8, false), bounds(1, 48, 8192));
        assertEquals(new BufferBounds(4 * 60, 48, 8, false), bounds(4, 48, 8192));
        assertEquals(new BufferBounds(2 * 120, 48, 8, false), bounds(2, 96, 8192));
        assertEquals(new BufferBounds(512, 48, 8, true), bounds(16, 48, 1024), "half of direct memory");
        assertEquals(new BufferBounds(20, 5, 1, true), bounds(2, 48, 40));
        assertEquals(new BufferBounds(1, 1, 1, true), bounds(2, 48, 1));
        assertEquals(192 * MIB, new DirectMemory(BufferBounds.of(1, 48 * MIB, 8192 * MIB)).bound());
    }

    @Test
    void theCureIsWhatMakesTheBound() {
        assertTrue(BufferBounds.of(1, 48 * MIB, 8192 * MIB).cure().contains("spark.reducer.maxSizeInFlight"));
        assertTrue(BufferBounds.of(1, 48 * MIB, 64 * MIB).cure().contains("-XX:MaxDirectMemorySize"));
    }
}
