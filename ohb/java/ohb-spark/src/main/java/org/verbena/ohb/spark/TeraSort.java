// SPDX-License-Identifier: Apache-2.0
// Row terasort: records of 100 bytes sorted by their first 10, over all partitions together.
package org.verbena.ohb.spark;

import java.io.Serializable;
import java.util.Arrays;
import java.util.Collections;
import java.util.Comparator;
import java.util.Iterator;
import java.util.SplittableRandom;
import org.apache.spark.Partitioner;
import org.apache.spark.api.java.JavaPairRDD;
import org.apache.spark.api.java.JavaSparkContext;
import org.apache.spark.storage.StorageLevel;
import scala.Tuple2;

/** The input is cached, so that the job is shuffle and sort; keys are random, so that equal ranges are equally full. */
final class TeraSort implements Job {
    private static final int KEY = 10;
    private static final int VALUE = 90;
    private static final Comparator<byte[]> ORDER = (Comparator<byte[]> & Serializable) Arrays::compareUnsigned;

    private final int reducers;
    private final long expected;
    private JavaPairRDD<byte[], byte[]> records;

    TeraSort(JavaSparkContext spark, Params params) {
        int maps = params.count("maps");
        int each = params.count("pairs");
        reducers = params.count("reducers");
        expected = (long) maps * each;
        JavaPairRDD<byte[], byte[]> made = spark.parallelize(PairJobs.numbers(maps), maps).mapPartitionsToPair(part -> {
            SplittableRandom random = new SplittableRandom(part.next());
            return PairJobs.iterate(each, i -> new Tuple2<>(bytes(random, KEY), bytes(random, VALUE)));
        });
        records = new ClassTags(params).on(made, ClassTags.BYTES, ClassTags.BYTES);
    }

    private static byte[] bytes(SplittableRandom random, int count) {
        byte[] bytes = new byte[count];
        random.nextBytes(bytes);
        return bytes;
    }

    /** Equal ranges of keys. */
    private static final class Ranges extends Partitioner {
        private static final long serialVersionUID = 1L;
        private final int count;

        Ranges(int count) {
            this.count = count;
        }

        @Override
        public int numPartitions() {
            return count;
        }

        @Override
        public int getPartition(Object key) {
            return (int) ((prefix((byte[]) key, 4) * count) >>> 32);
        }

        @Override
        public boolean equals(Object other) {
            return other instanceof Ranges ranges && ranges.count == count;
        }

        @Override
        public int hashCode() {
            return count;
        }
    }

    private static long prefix(byte[] key, int bytes) {
        long value = 0;
        for (int i = 0; i < bytes; i++) {
            value = value << 8 | key[i] & 0xff;
        }
        return value;
    }

    @Override
    public void prepare() {
        records = records.persist(StorageLevel.MEMORY_ONLY());
        long count = records.count();
        if (count != expected) {
            throw new IllegalStateException("generated " + count + " records instead of " + expected);
        }
    }

    @Override
    public ContentSum run(long seed) {
        Ranges ranges = new Ranges(reducers);
        return PairJobs.total(records.repartitionAndSortWithinPartitions(ranges, ORDER)
            .mapPartitions(part -> check(part, ranges)));
    }

    private static Iterator<ContentSum> check(Iterator<Tuple2<byte[], byte[]>> part, Ranges ranges) {
        ContentSum sum = new ContentSum();
        byte[] last = null;
        while (part.hasNext()) {
            Tuple2<byte[], byte[]> record = part.next();
            byte[] key = record._1();
            boolean sorted = last == null
                || ORDER.compare(last, key) <= 0 && ranges.getPartition(last) == ranges.getPartition(key);
            if (!sorted) {
                throw new IllegalStateException("the result of terasort is not sorted");
            }
            last = key;
            sum.add(prefix(key, 8) * 31 + prefix(new byte[] {key[8], key[9]}, 2), record._2());
        }
        return Collections.singleton(sum).iterator();
    }

    @Override
    public void release() {
        records.unpersist(true);
    }
}
