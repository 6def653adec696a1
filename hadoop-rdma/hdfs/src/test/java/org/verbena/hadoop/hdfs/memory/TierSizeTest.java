// SPDX-License-Identifier: Apache-2.0
// How large a memory tier is made, and what is said about it.
package org.verbena.hadoop.hdfs.memory;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.Test;

class TierSizeTest {
    private static final long MIB = 1 << 20;
    private static final long GIB = 1 << 30;
    private static final Path FOLDER = Path.of("/dev/shm/tiers");

    private static TierSize choose(long wanted, long memory, long free) {
        return TierSize.choose(wanted, memory, GIB, GIB / 2, FOLDER, free, 128 * MIB);
    }

    @Test
    void aQuarterOfTheMemoryButNotMoreThanTheFolderCanHold() {
        assertEquals(4 * GIB, choose(0, 16 * GIB, 8 * GIB).bytes());
        assertNull(choose(0, 16 * GIB, 8 * GIB).warning());
        TierSize small = choose(0, 16 * GIB, GIB);
        assertEquals(GIB / 10 * 6, small.bytes());
        assertEquals("60 % of the free space of /dev/shm/tiers", small.why());
    }

    @Test
    void whatIsSetIsTakenWhereThereIsRoom() {
        assertEquals(2 * GIB, choose(2 * GIB, 16 * GIB, 8 * GIB).bytes());
        TierSize cut = choose(2 * GIB, 16 * GIB, GIB);
        assertEquals(GIB - GIB / 16, cut.bytes());
        assertTrue(cut.warning().contains("has room for 1024 MiB of the 2048 MiB of verbena.hdfs.memory.size, and the tier has 960 "
            + "MiB"), cut.warning());
        assertTrue(cut.warning().contains("remount,size=3g"), cut.warning());
    }

    @Test
    void aTierThatCannotHoldABlockIsNone() {
        for (TierSize none : List.of(choose(64 * MIB, 16 * GIB, 8 * GIB), choose(0, 16 * GIB, 64 * MIB))) {
            assertEquals(0, none.bytes());
            assertTrue(none.warning().contains("cannot hold one block of 128 MiB (dfs.blocksize)"), none.warning());
        }
    }

    @Test
    void heapJvmAndStreamsComeFirstInASmallContainer() {
        TierSize derived = TierSize.choose(0, 4 * GIB, 3 * GIB, 160 * MIB, FOLDER, 8 * GIB, 128 * MIB);
        assertEquals((1024 - 192 - 192 - 160) * MIB, derived.bytes(), derived.why());
        assertEquals("4096 MiB less a heap of 3072 MiB, 384 MiB of the JVM and 160 MiB of streams", derived.why());
        assertNull(derived.warning());
        TierSize set = TierSize.choose(2 * GIB, 4 * GIB, 3 * GIB, 160 * MIB, FOLDER, 8 * GIB, 128 * MIB);
        assertEquals(derived.bytes(), set.bytes());
        assertTrue(set.warning().startsWith("verbena.hdfs.memory.size is 2048 MiB, but 4096 MiB less a heap"), set.warning());
        TierSize none = TierSize.choose(0, 4 * GIB, 4 * GIB, 16 * MIB, FOLDER, 8 * GIB, 128 * MIB);
        assertEquals(0, none.bytes());
        assertTrue(none.warning().endsWith("; lower the DataNode's heap (-Xmx), or give its container or host more memory"));
    }
}
