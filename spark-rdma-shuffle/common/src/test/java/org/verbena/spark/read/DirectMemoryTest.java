// SPDX-License-Identifier: Apache-2.0
package org.verbena.spark.read;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.junit.jupiter.api.Test;

class DirectMemoryTest {
    private static final long MIB = 1 << 20;

    private static long limit(long set, long heap, long memory) {
        return DirectMemory.limit(set * MIB, heap * MIB, memory * MIB) / MIB;
    }

    @Test
    void theLeastOfJvmAndContainerIsTheLimit() {
        assertEquals(8192, limit(0, 8192, 65536), "as large as the heap");
        assertEquals(512, limit(512, 8192, 65536), "as set");
        assertEquals(819, limit(0, 8192, 9011), "Spark's default overhead");
        assertEquals(819, limit(4096, 8192, 9011));
        assertEquals(64, limit(0, 8192, 8000), "a heap that fills the container");
        assertTrue(DirectMemory.limit() > 0);
    }
}
