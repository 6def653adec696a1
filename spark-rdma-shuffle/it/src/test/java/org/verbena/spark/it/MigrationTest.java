// SPDX-License-Identifier: Apache-2.0
// A decommissioned executor's map outputs leave memory one by one, when Spark migrates them.
package org.verbena.spark.it;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.HashSet;
import java.util.Set;
import java.util.concurrent.atomic.AtomicLong;
import org.apache.spark.HashPartitioner;
import org.apache.spark.SparkEnv;
import org.apache.spark.scheduler.SparkListener;
import org.apache.spark.scheduler.SparkListenerTaskEnd;
import org.apache.spark.shuffle.IndexShuffleBlockResolver;
import org.apache.spark.shuffle.ShuffleBlockInfo;
import org.apache.spark.shuffle.sort.SortShuffleManager;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(120)
class MigrationTest {
    private static IndexShuffleBlockResolver resolver() {
        return ((SortShuffleManager) SparkEnv.get().shuffleManager()).shuffleBlockResolver();
    }

    private static Set<ShuffleBlockInfo> stored() {
        Set<ShuffleBlockInfo> all = new HashSet<>();
        scala.collection.Iterator<ShuffleBlockInfo> each = resolver().getStoredShuffles().iterator();
        while (each.hasNext()) {
            assertTrue(all.add(each.next()), "each is named once");
        }
        return all;
    }

    @Test
    void aListOfMapOutputsWritesNoneAndEachIsWrittenWhenItMigrates() {
        try (Application application = new Application()) {
            assertEquals(10, application.pairs().groupByKey(4).count());
            ShuffleBlockInfo first = new ShuffleBlockInfo(0, 0);
            ShuffleBlockInfo second = new ShuffleBlockInfo(0, 1);
            assertEquals(Set.of(first, second), stored());
            assertEquals(0, application.slabs().spilledOutputs());
            assertEquals(2, resolver().getMigrationBlocks(first).size());
            assertEquals(1, application.slabs().spilledOutputs());
            assertNull(application.slabs().find(0, 0));
            assertNotNull(application.slabs().find(0, 1));
            assertEquals(Set.of(first, second), stored());
            resolver().addShuffleToSkip(0);
            assertEquals(Set.of(), stored());
        }
    }

    @Test
    void whatIsWrittenTwiceIsASpillInSparksMetrics() throws Exception {
        AtomicLong memory = new AtomicLong();
        AtomicLong disk = new AtomicLong();
        try (Application application = new Application("spark.verbena.memory=8m")) {
            application.context().sc().addSparkListener(new SparkListener() {
                @Override
                public void onTaskEnd(SparkListenerTaskEnd end) {
                    memory.addAndGet(end.taskMetrics().memoryBytesSpilled());
                    disk.addAndGet(end.taskMetrics().diskBytesSpilled());
                }
            });
            assertEquals(10, application.pairs().groupByKey(4).count());
            application.context().sc().listenerBus().waitUntilEmpty();
            assertEquals(0, disk.get());
            assertEquals(Application.RECORDS, application.pairs().mapValues(number -> new byte[40_000])
                .partitionBy(new HashPartitioner(3)).count());
            application.context().sc().listenerBus().waitUntilEmpty();
            assertTrue(memory.get() > 1 << 20, memory.get() + " bytes");
            assertTrue(disk.get() > 0 && disk.get() < memory.get(), disk.get() + " bytes, which are zeroes and compressed");
        }
    }
}
