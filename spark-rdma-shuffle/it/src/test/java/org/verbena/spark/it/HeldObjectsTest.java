// SPDX-License-Identifier: Apache-2.0
// Java-serialised objects and many partitions: what open streams keep stays within the memory of tasks.
package org.verbena.spark.it;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.Serializable;
import java.lang.ref.WeakReference;
import java.util.Iterator;
import java.util.List;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import org.apache.spark.HashPartitioner;
import org.apache.spark.api.java.JavaPairRDD;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import scala.Tuple2;

@Timeout(120)
class HeldObjectsTest {
    private static final int RECORDS = 10_000;
    private static final int BYTES = 1000;
    private static final long SUM = RECORDS * (RECORDS - 1L) / 2;
    /** All values that the map task made, for as long as somebody refers to them; it runs in this JVM. */
    private static final Queue<WeakReference<Value>> MADE = new ConcurrentLinkedQueue<>();
    private static volatile long left;

    /** Java serialisation takes it for an object like any other. */
    record Value(int number, byte[] more) implements Serializable {
    }

    /** The values; after the last one, counts those that something still refers to. */
    private static final class Made implements Iterator<Tuple2<Integer, Value>> {
        private int next;

        @Override
        public boolean hasNext() {
            if (next < RECORDS) {
                return true;
            }
            System.gc();
            left = MADE.stream().filter(value -> value.get() != null).count();
            return false;
        }

        @Override
        public Tuple2<Integer, Value> next() {
            Value value = new Value(next, new byte[BYTES]);
            MADE.add(new WeakReference<>(value));
            return new Tuple2<>(next++, value);
        }
    }

    private static JavaPairRDD<Integer, Value> values(Application application) {
        MADE.clear();
        return application.context().parallelize(List.of(0), 1).mapPartitionsToPair(none -> new Made());
    }

    /** Spark gives tasks 2 MiB less a part; the values are 10 MB, five for each stream. */
    @ParameterizedTest
    @CsvSource({"2000, false", "200, true"})
    void aMapTaskWithLittleMemoryLetsGoOfWhatItHasWritten(int partitions, boolean compress) {
        try (Application application = new Application("spark.testing.memory=2097152", "spark.testing.reservedMemory=0",
                "spark.shuffle.compress=" + compress)) {
            long sum = values(application).partitionBy(new HashPartitioner(partitions)).values()
                .map(value -> value.more().length == BYTES ? (long) value.number() : -1).reduce(Long::sum);
            assertEquals(SUM, sum);
            assertTrue(left < RECORDS / 2, left + " of " + RECORDS + " values are still on the heap");
        }
    }
}
