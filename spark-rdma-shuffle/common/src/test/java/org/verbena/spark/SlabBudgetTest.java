// SPDX-License-Identifier: Apache-2.0
// The slab budget follows the setting, the memory and the tmpfs of the host, and says what is short.
package org.verbena.spark;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.file.Path;
import org.junit.jupiter.api.Test;

class SlabBudgetTest {
    private static final long MIB = 1 << 20;
    private static final Path ROOT = Path.of("/dev/shm");

    private static SlabBudget choose(long wanted, long memory, int executors, long free) {
        return SlabBudget.choose(wanted * MIB, memory * MIB, executors, ROOT, free * MIB);
    }

    @Test
    void withoutASettingItIsAQuarterOfTheMemorySharedByTheExecutors() {
        SlabBudget budget = choose(0, 16384, 2, 8192);
        assertEquals(2048 * MIB, budget.bytes());
        assertEquals("a quarter of 16384 MiB shared by 2 executors", budget.why());
        assertNull(budget.warning());
    }

    @Test
    void aSmallTmpfsLimitsItAndIsNamedWithItsCure() {
        SlabBudget budget = choose(0, 16384, 1, 100);
        assertEquals(60 * MIB, budget.bytes());
        assertTrue(budget.warning().contains("100 MiB free"), budget.warning());
        assertTrue(budget.warning().contains("--shm-size"), budget.warning());
    }

    @Test
    void aTmpfsThatIsALittleSmallerThanTheShareIsNotWorthAWarning() {
        assertNull(choose(0, 16384, 1, 4096).warning());
    }

    @Test
    void aSettingIsTakenAsItIs() {
        SlabBudget budget = choose(32, 16384, 1, 64);
        assertEquals(32 * MIB, budget.bytes());
        assertEquals("spark.verbena.memory", budget.why());
    }

    @Test
    void aSettingThatTmpfsCannotHoldIsCutToWhatIsFreeWithAWarning() {
        SlabBudget budget = choose(1024, 16384, 1, 64);
        assertEquals(60 * MIB, budget.bytes());
        assertTrue(budget.warning().contains("64 MiB free of the 1024 MiB"), budget.warning());
        assertTrue(budget.warning().contains("--shm-size"), budget.warning());
    }

    @Test
    void aFullTmpfsMeansSparksFilesAndOneWarning() {
        for (long wanted : new long[] {0, 4096}) {
            SlabBudget budget = choose(wanted, 16384, 1, 3);
            assertEquals(0, budget.bytes());
            assertTrue(budget.warning().contains("Spark's files"), budget.warning());
            assertTrue(budget.warning().contains("--shm-size"), budget.warning());
        }
    }

    @Test
    void thisHostHasABudget() throws Exception {
        assertTrue(SlabBudget.here(0, 1, ROOT).bytes() >= 0);
        assertEquals(0, SlabBudget.here(0, 1, Path.of("/no/such/place")).bytes());
    }
}
