// SPDX-License-Identifier: Apache-2.0
// What Spark's ShuffleSuite states by deleting or damaging the stock shuffle's files, stated on slabs.
package org.verbena.spark.it;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.ByteBuffer;
import org.apache.spark.api.java.JavaPairRDD;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.verbena.spark.metrics.Traffic;
import org.verbena.spark.store.MapOutput;

@Timeout(120)
class LostOutputTest {
    private static final long SUM = Application.RECORDS * (Application.RECORDS - 1) / 2;

    /** SPARK-4085. Map ids are the numbers of task attempts: 0 and 1 are the first map stage. */
    @Test
    void aLostMapOutputIsMadeAgainWithCombineAndWithout() {
        try (Application application = new Application()) {
            JavaPairRDD<Integer, Integer> sums = application.pairs().reduceByKey(Integer::sum, 3);
            assertEquals(SUM, sums.values().reduce(Integer::sum).longValue());
            JavaPairRDD<Integer, Iterable<Integer>> groups = application.pairs().groupByKey(3);
            assertEquals(SUM, Application.sum(groups));
            for (int shuffle = 0; shuffle < 2; shuffle++) {
                long written = application.slabs().writtenBytes();
                long map = anyMap(application, shuffle);
                application.slabs().remove(shuffle, map);
                assertEquals(SUM, shuffle == 0 ? sums.values().reduce(Integer::sum).longValue() : Application.sum(groups));
                assertNull(application.slabs().find(shuffle, map));
                assertTrue(application.slabs().writtenBytes() > written, "no map task ran again");
            }
        }
    }

    /** Map ids grow from 0 with the tasks of the application. */
    private static long anyMap(Application application, int shuffle) {
        for (long map = 0; map < 1000; map++) {
            if (application.slabs().find(shuffle, map) != null) {
                return map;
            }
        }
        throw new AssertionError("shuffle " + shuffle + " has no output in slabs");
    }

    /** "cannot find its local shuffle file if no execution of the stage and rerun shuffle". */
    @Test
    void anOutputExistsOnlyOnceItsStageRan() {
        try (Application application = new Application()) {
            JavaPairRDD<Integer, Iterable<Integer>> groups = application.pairs().groupByKey(3);
            assertEquals(0, application.slabs().usedBytes());
            assertEquals(SUM, Application.sum(groups));
            assertNotNull(application.slabs().find(0, anyMap(application, 0)));
        }
    }

    /** SPARK-36206: Spark finds damage in compressed blocks while it reads them. */
    @Test
    void damageInACompressedBlockIsFoundAndTheMapOutputMadeAgain() throws Exception {
        try (Application application = new Application("spark.shuffle.compress=true")) {
            JavaPairRDD<Integer, Iterable<Integer>> groups = application.pairs().groupByKey(3);
            assertEquals(SUM, Application.sum(groups));
            MapOutput output = application.slabs().find(0, anyMap(application, 0));
            assertTrue(output.pin());
            for (ByteBuffer piece : output.index().pieces(0, 3)) {
                for (int i = piece.limit() / 2; i < piece.limit(); i++) {
                    piece.put(i, (byte) (piece.get(i) ^ 0x55));
                }
            }
            output.unpin();
            long written = application.slabs().writtenBytes();
            assertEquals(SUM, Application.sum(groups));
            assertTrue(application.slabs().writtenBytes() > written, "no map task ran again");
        }
    }

    /** Without compression nothing but a checksum can find it; Spark takes them for its files by default, we on demand. */
    @Test
    void damageInAnUncompressedBlockIsFoundByTheChecksumThatTheUserAskedForAndTheMapOutputMadeAgain() throws Exception {
        try (Application application = new Application("spark.shuffle.compress=false",
                "spark.shuffle.checksum.enabled=true")) {
            JavaPairRDD<Integer, Iterable<Integer>> groups = application.pairs().groupByKey(3);
            assertEquals(SUM, Application.sum(groups));
            MapOutput output = application.slabs().find(0, anyMap(application, 0));
            ByteBuffer piece = output.index().pieces(1, 2)[0];
            piece.put(piece.limit() - 1, (byte) (piece.get(piece.limit() - 1) ^ 1));
            long written = application.slabs().writtenBytes();
            assertEquals(SUM, Application.sum(groups));
            assertTrue(application.slabs().writtenBytes() > written, "no map task ran again");
        }
    }

    /** SPARK-3426. */
    @Test
    void everyCombinationOfCompressionSettingsWritesToSlabsAndReadsTheSame() {
        for (boolean spill : new boolean[] {false, true}) {
            for (boolean shuffle : new boolean[] {false, true}) {
                try (Application application = new Application("spark.shuffle.spill.compress=" + spill,
                        "spark.shuffle.compress=" + shuffle)) {
                    assertEquals(0, application.slabs().writtenBytes());
                    assertEquals(SUM, Application.sum(application.pairs().groupByKey(3)));
                    assertTrue(application.slabs().writtenBytes() > 0);
                    assertTrue(application.engine().traffic().bytes(Traffic.Path.LOCAL_SLAB) > 0);
                }
            }
        }
    }
}
