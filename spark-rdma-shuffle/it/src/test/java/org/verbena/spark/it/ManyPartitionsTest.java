// SPDX-License-Identifier: Apache-2.0
// Shuffles with more partitions than a stream each would allow.
package org.verbena.spark.it;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.Serializable;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import org.apache.spark.HashPartitioner;
import org.apache.spark.api.java.JavaPairRDD;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.verbena.spark.metrics.Traffic;
import org.verbena.spark.store.OutputBuffer;
import org.verbena.spark.write.RadixShuffleMapWriter;
import scala.Tuple2;

@Timeout(300)
class ManyPartitionsTest {
    private static final int MAPS = 3;
    private static final int RECORDS = 20_000;
    private static final int PARTITIONS = 20_000;
    private static final int FEWER = 3000;
    private static final String KRYO = "spark.serializer=org.apache.spark.serializer.KryoSerializer";
    /** Writers on the stacks of map tasks; these run in this JVM. */
    private static final Set<String> WRITERS = ConcurrentHashMap.newKeySet();

    /** Java serialisation writes it with a description of its class. */
    record Point(int x, int y) implements Serializable {
    }

    private static void noteWriter() {
        for (StackTraceElement frame : Thread.currentThread().getStackTrace()) {
            if (frame.getMethodName().equals("write") && frame.getClassName().endsWith("Writer")) {
                WRITERS.add(frame.getClassName());
            }
        }
    }

    private static byte[] value(int key) {
        byte[] value = new byte[key % 300];
        Arrays.fill(value, (byte) key);
        return value;
    }

    private static JavaPairRDD<Integer, Object> records(Application application, int objectEvery) {
        WRITERS.clear();
        List<Integer> maps = new ArrayList<>();
        for (int map = 0; map < MAPS; map++) {
            maps.add(map);
        }
        return application.context().parallelize(maps, MAPS).flatMapToPair(map -> {
            List<Tuple2<Integer, Object>> records = new ArrayList<>();
            for (int i = 0; i < RECORDS; i++) {
                int key = i * 7 + map;
                boolean object = objectEvery > 0 && i % objectEvery == objectEvery - 1;
                records.add(new Tuple2<>(key, object ? new Point(key, map) : value(key)));
            }
            return records.iterator();
        }).mapToPair(record -> {
            if (record._1() / 7 == RECORDS - 1) { // the writer may have looked at the first one only
                noteWriter();
            }
            return record;
        });
    }

    private static boolean isRight(Integer key, Object value) {
        return value instanceof Point point ? point.x() == key : Arrays.equals(value(key), (byte[]) value);
    }

    /** Sorts into the partitions, reads a few hundred of them in each task, and looks at every record. */
    private static void assertShuffled(Application application, int partitions, int objectEvery) {
        HashPartitioner partitioner = new HashPartitioner(partitions);
        List<Long> right = records(application, objectEvery).partitionBy(partitioner).coalesce(4)
            .mapPartitions(part -> {
                long count = 0;
                while (part.hasNext()) {
                    Tuple2<Integer, Object> record = part.next();
                    count += isRight(record._1(), record._2()) ? 1 : -1_000_000;
                }
                return List.of(count).iterator();
            }).collect();
        assertEquals((long) MAPS * RECORDS, right.stream().mapToLong(Long::longValue).sum());
        assertEquals(4, right.size());
    }

    private static Set<String> radix() {
        return Set.of(RadixShuffleMapWriter.class.getName());
    }

    @ParameterizedTest
    @ValueSource(strings = {"spark.shuffle.compress=false", "spark.shuffle.compress=true", KRYO})
    void recordsAreSortedByPartitionInMemoryAndAllArrive(String setting) {
        try (Application application = new Application(setting)) {
            assertShuffled(application, setting.equals(KRYO) ? PARTITIONS : FEWER, 0);
            assertEquals(radix(), WRITERS);
            assertTrue(application.slabs().writtenBytes() > 0);
            assertEquals(0, application.slabs().spilledBytes());
            assertTrue(application.engine().traffic().bytes(Traffic.Path.LOCAL_SLAB) > 0);
        }
    }

    /** A stream of Kryo's for each of 2,048 partitions would take memory that Spark does not know of. */
    @ParameterizedTest
    @ValueSource(ints = {201, 2048})
    void withKryoTwoHundredPartitionsAreMany(int partitions) {
        try (Application application = new Application(KRYO)) {
            assertShuffled(application, partitions, 0);
            assertEquals(radix(), WRITERS);
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {"spark.shuffle.compress=false", "spark.shuffle.compress=true"})
    void withLittleMemoryForTasksTheSameRecordsArriveFromManyPieces(String setting) {
        try (Application application = new Application(setting, "spark.testing.memory=2097152",
                "spark.testing.reservedMemory=0")) {
            assertShuffled(application, FEWER, 0);
            assertEquals(radix(), WRITERS);
        }
    }

    @Test
    void whatDoesNotFitInSlabsIsWrittenToSparksFiles() {
        try (Application application = new Application("spark.verbena.memory=8m", "spark.shuffle.compress=false")) {
            assertShuffled(application, FEWER, 0);
            assertEquals(radix(), WRITERS);
            assertTrue(application.slabs().spilledBytes() > 0);
        }
    }

    /** Each partition would take heap while its map output is written. */
    @Test
    void morePartitionsThanTheHeapShouldKnowAreSparksFiles() {
        try (Application application = new Application()) {
            List<Tuple2<Integer, Object>>[] some = records(application, 0)
                .partitionBy(new HashPartitioner(OutputBuffer.MOST_PARTITIONS + 1)).collectPartitions(new int[] {0, 8});
            assertEquals(List.of(0, 7 + 1), List.of(some[0].get(0)._1(), some[1].get(0)._1()));
            assertTrue(isRight(8, some[1].get(0)._2()));
            assertEquals(0, application.slabs().writtenBytes());
        }
    }

    @Test
    void anObjectAmongSimpleValuesIsWrittenByItself() {
        try (Application application = new Application()) {
            assertShuffled(application, FEWER, 100);
            assertEquals(radix(), WRITERS);
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {"spark.shuffle.compress=false", "spark.io.encryption.enabled=true"})
    void objectsAndEncryptedStreamsAreLeftToSparksSorter(String setting) {
        try (Application application = new Application(setting)) {
            assertShuffled(application, FEWER, setting.contains("compress") ? 1 : 0);
            assertTrue(WRITERS.stream().anyMatch(name -> name.startsWith("org.apache.spark.shuffle.sort")),
                WRITERS::toString);
            assertTrue(application.slabs().writtenBytes() > 0);
        }
    }
}
