// SPDX-License-Identifier: Apache-2.0
// The slab budget follows the setting, the memory and the tmpfs of the host, and says what is short.
package org.verbena.spark;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.file.Path;
import org.apache.spark.SparkConf;
import org.junit.jupiter.api.Test;

class SlabBudgetTest {
    private static final long MIB = 1 << 20;
    private static final Path ROOT = Path.of("/dev/shm");

    private static SlabBudget choose(long wanted, long memory, int executors, long free) {
        return SlabBudget.choose(wanted * MIB, memory * MIB, ContainerMemory.NONE, executors, ROOT, free * MIB);
    }

    /** In a container of so many MiB with such a heap. */
    private static SlabBudget contained(long wanted, long limit, long heap, int executors) {
        ContainerMemory container = ContainerMemory.of(new SparkConf(false), limit * MIB, heap * MIB);
        return SlabBudget.choose(wanted * MIB, 65536 * MIB, container, executors, ROOT, 16384 * MIB);
    }

    @Test
    void aContainerThatTheHeapFillsLeavesNothingAndTheLineSaysTheSum() {
        SlabBudget budget = contained(0, 9010, 8192, 1);
        assertEquals(0, budget.bytes());
        assertTrue(budget.warning().contains("container of 9010 MiB less 8192 MiB of heap and 1011 MiB of other memory"),
            budget.warning());
        assertTrue(budget.warning().contains("spark.executor.memoryOverhead"), budget.warning());
    }

    @Test
    void aContainerLeavesItsLimitLessHeapAndOtherMemoryWhateverIsSet() {
        assertEquals((6000 - 4096 - 409 - 192) * MIB, contained(0, 6000, 4096, 1).bytes() / MIB * MIB, MIB);
        SlabBudget set = contained(4096, 6000, 4096, 1);
        assertEquals(contained(0, 6000, 4096, 1).bytes(), set.bytes());
        assertTrue(set.warning().contains("spark.verbena.memory is 4096 MiB"), set.warning());
    }

    @Test
    void executorsShareAContainer() {
        assertEquals(16384 / 4 / 2 * MIB, contained(0, 16384, 2048, 2).bytes());
        assertEquals((8192 / 2 - 3072 - 384 - 192) * MIB, contained(0, 8192, 3072, 2).bytes());
        assertEquals(65536 * MIB / 13 - 4697 * MIB, contained(0, 65536, 4096, 16).bytes(), MIB, "only 13 of them fit");
    }

    @Test
    void aContainerWithRoomLeavesAQuarterOfItself() {
        SlabBudget budget = contained(0, 16384, 4096, 1);
        assertEquals(4096 * MIB, budget.bytes());
        assertEquals("a quarter of 16384 MiB", budget.why());
        assertNull(budget.warning());
    }

    @Test
    void withoutASettingItIsAQuarterOfTheMemorySharedByTheExecutors() {
        SlabBudget budget = choose(0, 16384, 2, 8192);
        assertEquals(2048 * MIB, budget.bytes());
        assertEquals("a quarter of 16384 MiB shared by 2 executors", budget.why());
        assertNull(budget.warning());
    }

    /** Two standalone workers of a host, each with an executor that has all cores. */
    @Test
    void executorsOfOneHostThatNoSettingTellsOfShareTheQuarterToo() {
        SlabBudget budget = choose(0, 16384, 1, 8192);
        assertEquals(4096 * MIB, budget.sharedBy(1));
        assertEquals(2048 * MIB, budget.sharedBy(2));
        assertEquals(8 * MIB, budget.sharedBy(10_000));
        assertEquals(2048 * MIB, choose(0, 16384, 2, 8192).sharedBy(1));
        assertEquals(1024 * MIB, choose(1024, 16384, 1, 8192).sharedBy(4), "what is set is for each");
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
        assertTrue(SlabBudget.here(0, ContainerMemory.NONE, 1, ROOT).bytes() >= 0);
        assertEquals(0, SlabBudget.here(0, ContainerMemory.NONE, 1, Path.of("/no/such/place")).bytes());
    }
}
