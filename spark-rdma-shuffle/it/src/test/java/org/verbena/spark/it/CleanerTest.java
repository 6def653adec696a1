// SPDX-License-Identifier: Apache-2.0
// What Spark's ContextCleanerSuite states by looking for the stock shuffle's files, stated on slabs.
package org.verbena.spark.it;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.sun.management.GarbageCollectionNotificationInfo;
import java.lang.management.GarbageCollectorMXBean;
import java.lang.management.ManagementFactory;
import java.util.Random;
import java.util.concurrent.CountDownLatch;
import javax.management.NotificationEmitter;
import javax.management.openmbean.CompositeData;
import org.apache.spark.HashPartitioner;
import org.apache.spark.MapOutputTrackerMaster;
import org.apache.spark.SparkEnv;
import org.apache.spark.api.java.JavaPairRDD;
import org.apache.spark.storage.StorageLevel;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(120)
class CleanerTest {
    private static final long SUM = Application.RECORDS * (Application.RECORDS - 1) / 2;

    private static void awaitEmpty(Application application) throws InterruptedException {
        while (application.slabs().usedBytes() > 0) { // ended by the test's time-out
            System.gc(); // Spark's cleaner acts when the driver's references are collected
            Thread.sleep(100);
        }
    }

    /** "cleanup shuffle". */
    @Test
    void aShuffleThatIsCleanedGivesItsMemoryBackAndIsMadeAgainWhenItIsNeeded() {
        try (Application application = new Application()) {
            JavaPairRDD<Integer, Integer> sums = application.pairs().reduceByKey(Integer::sum, 3);
            assertEquals(SUM, sums.values().reduce(Integer::sum).longValue());
            assertTrue(application.slabs().usedBytes() > 0);
            application.context().sc().cleaner().get().doCleanupShuffle(0, true);
            assertEquals(0, application.slabs().usedBytes());
            assertEquals(SUM, sums.values().reduce(Integer::sum).longValue());
            assertTrue(application.slabs().usedBytes() > 0);
        }
    }

    private static void shuffleOnce(Application application) {
        assertEquals(SUM, Application.sum(application.pairs().groupByKey(3)));
        assertTrue(application.slabs().usedBytes() > 0);
    }

    /** "automatically cleanup shuffle". */
    @Test
    void aShuffleThatNobodyRefersToGivesItsMemoryBack() throws InterruptedException {
        try (Application application = new Application()) {
            shuffleOnce(application);
            awaitEmpty(application);
        }
    }

    /** Calls back at each collection that a program asked for. */
    private static void atAskedCollection(Runnable seen) {
        for (GarbageCollectorMXBean collector : ManagementFactory.getGarbageCollectorMXBeans()) {
            ((NotificationEmitter) collector).addNotificationListener((notification, nothing) -> {
                if (GarbageCollectionNotificationInfo.from((CompositeData) notification.getUserData()).getGcCause()
                        .equals("System.gc()")) {
                    seen.run();
                }
            }, null, null);
        }
    }

    private static byte[] incompressible(int seed) {
        byte[] bytes = new byte[3000];
        new Random(seed).nextBytes(bytes);
        return bytes;
    }

    /** Executors whose memory is nearly full make the driver look for dead shuffles; nobody else does so here. */
    @Test
    @Timeout(300) // several jobs
    void deadShufflesAreDroppedWhenMemoryGetsScarce() throws InterruptedException {
        try (Application application = new Application("spark.verbena.memory=8m", "spark.cleaner.periodicGC.interval=1d")) {
            CountDownLatch asked = new CountDownLatch(1);
            atAskedCollection(asked::countDown);
            while (asked.getCount() > 0) { // ended by the test's time-out, as the next one
                JavaPairRDD<Integer, byte[]> large = application.pairs().mapValues(CleanerTest::incompressible);
                assertEquals(Application.RECORDS, large.partitionBy(new HashPartitioner(3)).count());
            }
            MapOutputTrackerMaster outputs = (MapOutputTrackerMaster) SparkEnv.get().mapOutputTracker();
            while (outputs.containsShuffle(0)) {
                Thread.sleep(10);
            }
        }
    }

    private static void shufflePersistAndBroadcast(Application application) {
        var broadcast = application.context().broadcast(new int[] {1});
        for (int i = 0; i < 5; i++) {
            JavaPairRDD<Integer, Integer> ones = application.pairs().mapValues(n -> n * broadcast.value()[0]);
            JavaPairRDD<Integer, Integer> sums = ones.reduceByKey(Integer::sum, 3).persist(StorageLevel.MEMORY_ONLY());
            assertEquals(SUM, sums.values().reduce(Integer::sum).longValue());
        }
        assertTrue(application.slabs().usedBytes() > 0);
    }

    /** "automatically cleanup RDD + shuffle + broadcast"; its form with executors of their own is in tests/spark/it. */
    @Test
    void shufflesOfPersistedDataGiveTheirMemoryBackWithIt() throws InterruptedException {
        try (Application application = new Application()) {
            shufflePersistAndBroadcast(application);
            awaitEmpty(application);
        }
    }
}
