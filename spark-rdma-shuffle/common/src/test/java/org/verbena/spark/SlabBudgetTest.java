// SPDX-License-Identifier: Apache-2.0
// The slab budget follows the setting, the memory and the tmpfs of the host, and says what is short.
package org.verbena.spark;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.function.ToIntFunction;
import org.apache.spark.SparkConf;
import org.junit.jupiter.api.Test;
import org.verbena.core.plugin.ControlGroups.Limit;
import org.verbena.spark.settings.VerbenaConf;

class SlabBudgetTest {
    private static final long MIB = 1 << 20;
    private static final Path ROOT = Path.of("/dev/shm");

    private static SlabBudget choose(long wanted, long memory, int executors, long free) {
        return SlabBudget.choose(wanted * MIB, memory * MIB, ContainerMemory.NONE, executors, ROOT, free * MIB);
    }

    /** Of executors that run one task at a time, wherever they are. */
    private static SparkConf oneTask() {
        return new SparkConf(false).set("spark.executor.cores", "1");
    }

    /** In a container of so many MiB with such a heap. */
    private static SlabBudget contained(long wanted, long limit, long heap, int executors) {
        ContainerMemory container = ContainerMemory.of(oneTask(), List.of(new Limit("pod", limit * MIB)), heap * MIB);
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

    /** Map outputs, buffers, heap and the JVM's own memory: an executor has no more than its container, and uses it. */
    @Test
    void buffersOfManyTasksLeaveLessForMapOutputs() {
        for (int cores : new int[] {1, 2, 4, 16}) {
            SparkConf yarn = oneTask().set("spark.master", "yarn").set("spark.executor.memory", "8g")
                .set("spark.executor.memoryOverhead", "4g").set("spark.executor.cores", Integer.toString(cores));
            ContainerMemory container = ContainerMemory.of(yarn, List.of(), 8192 * MIB);
            SlabBudget budget = SlabBudget.choose(4096 * MIB, 65536 * MIB, container, 1, ROOT, 16384 * MIB);
            long buffers = 64 + Math.max(128, cores * 60L);
            assertEquals(12288 - 8192 - 819 - buffers, budget.bytes() / MIB, 1, cores + " cores");
            assertTrue(budget.warning().contains("of which " + buffers + " MiB are buffers"), budget.warning());
        }
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

    /** On a bare host of so many MiB, with such a heap. */
    private static SlabBudget bare(long wanted, long memory, long heap, int executors) {
        ContainerMemory none = ContainerMemory.of(oneTask().set("spark.master", "spark://host:1"), List.of(),
            heap * MIB);
        return SlabBudget.choose(wanted * MIB, memory * MIB, none, executors, ROOT, 16384 * MIB);
    }

    @Test
    void aHeapThatFillsTheHostLeavesWhatIsLeftAndAWarning() {
        SlabBudget budget = bare(0, 24103, 21504, 1);
        assertEquals((24103 - 21504 - 2150 - 192) * MIB, budget.bytes(), MIB);
        assertTrue(budget.warning().contains("host of 24103 MiB less 21504 MiB of heap"), budget.warning());
        assertTrue(budget.warning().contains("lower spark.executor.memory"), budget.warning());
        SlabBudget set = bare(4096, 24103, 21504, 1);
        assertEquals(budget.bytes(), set.bytes());
        assertTrue(set.warning().contains("spark.verbena.memory is 4096 MiB"), set.warning());
        assertEquals(0, bare(0, 24103, 23552, 1).bytes());
    }

    @Test
    void executorsOfAHostShareWhatTheirHeapsLeave() {
        assertEquals((24576 / 2 - 10240 - 1024 - 192) * MIB, bare(0, 24576, 10240, 2).bytes(), MIB);
        SlabBudget one = bare(0, 24576, 10240, 1);
        assertEquals(6144 * MIB, one.bytes());
        assertEquals((24576 / 2 - 10240 - 1024 - 192) * MIB, one.sharedBy(all(2)), MIB, "two workers, which no setting tells of");
        assertEquals(8 * MIB, one.sharedBy(all(3)));
        assertEquals((24576 / 2 - 10240 - 1024 - 192) * MIB, bare(4096, 24576, 10240, 1).sharedBy(all(2)), MIB);
    }

    /** So many executors, whatever limit they are below. */
    private static ToIntFunction<String> all(int executors) {
        return holder -> executors;
    }

    /** Docker with the host's /dev/shm, pods with a hostPath there: who sees the other's slabs need not share its limit. */
    @Test
    void executorsInContainersOfTheirOwnShareNothingButTheHost() {
        Map<String, Integer> two = Map.of("pod", 1, "host", 2);
        assertEquals(1024 * MIB, contained(0, 4096, 2048, 1).sharedBy(two::get));
        assertEquals(1400 * MIB, contained(1400, 4096, 2048, 1).sharedBy(two::get));
        assertEquals(8 * MIB, contained(0, 4096, 2048, 1).sharedBy(all(2)), "in one container");
        Map<String, Integer> many = Map.of("pod", 1, "host", 24);
        assertEquals((65536 / 24 - 2048 - 384 - 192) * MIB, contained(0, 4096, 2048, 1).sharedBy(many::get), MIB, "their host");
    }

    @Test
    void theLimitThatLeavesLeastCounts() {
        List<Limit> groups = List.of(new Limit("executor", 4096 * MIB), new Limit("both", 6144 * MIB));
        ContainerMemory container = ContainerMemory.of(oneTask(), groups, 2048 * MIB);
        SlabBudget budget = SlabBudget.choose(4096 * MIB, 65536 * MIB, container, 1, ROOT, 16384 * MIB);
        assertEquals((4096 - 2048 - 384 - 192) * MIB, budget.bytes());
        Map<String, Integer> two = Map.of("executor", 1, "both", 2, "host", 2);
        assertEquals((6144 / 2 - 2048 - 384 - 192) * MIB, budget.sharedBy(two::get));
    }

    @Test
    void aContainerOfItsOwnIsNotShared() {
        SparkConf yarn = new SparkConf(false).set("spark.master", "yarn").set("spark.executor.memory", "8g")
            .set("spark.executor.memoryOverhead", "4g");
        ContainerMemory container = ContainerMemory.of(yarn, List.of(), 8192 * MIB);
        SlabBudget budget = SlabBudget.choose(3000 * MIB, 65536 * MIB, container, 1, ROOT, 16384 * MIB);
        assertEquals(3000 * MIB, budget.bytes());
        assertEquals(3000 * MIB, budget.sharedBy(all(4)));
        SlabBudget quarter = SlabBudget.choose(0, 65536 * MIB, container, 1, ROOT, 16384 * MIB);
        assertEquals(3072 * MIB, quarter.bytes());
        assertEquals(3072 * MIB, quarter.sharedBy(all(4)));
    }

    @Test
    void theDriverTellsWhatExecutorsWillHaveAndNotItself() throws Exception {
        SparkConf yarn = new SparkConf(false).set("spark.master", "yarn").set("spark.executor.memory", "8g");
        SlabBudget none = SlabBudget.ofExecutors(yarn, new VerbenaConf(yarn), ROOT);
        assertEquals(0, none.bytes());
        assertTrue(none.warning().contains("less 8192 MiB of heap"), none.warning());
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
        assertEquals(4096 * MIB, budget.sharedBy(all(1)));
        assertEquals(2048 * MIB, budget.sharedBy(all(2)));
        assertEquals(8 * MIB, budget.sharedBy(all(10_000)));
        assertEquals(2048 * MIB, choose(0, 16384, 2, 8192).sharedBy(all(1)));
        assertEquals(1024 * MIB, choose(1024, 16384, 1, 8192).sharedBy(all(4)), "what is set is for each");
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
