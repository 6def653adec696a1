// SPDX-License-Identifier: Apache-2.0
// Rows over pairs of an integer and bytes: groupby, sortby, tiny, reread, reducebykey.
package org.verbena.ohb.spark;

import java.io.Serializable;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.nio.ByteOrder;
import java.util.ArrayList;
import java.util.Collections;
import java.util.Iterator;
import java.util.List;
import java.util.SplittableRandom;
import java.util.function.IntFunction;
import org.apache.spark.HashPartitioner;
import org.apache.spark.api.java.JavaPairRDD;
import org.apache.spark.api.java.JavaRDD;
import org.apache.spark.api.java.JavaSparkContext;
import org.apache.spark.storage.StorageLevel;
import scala.Tuple2;

/** Jobs of the RDD API. Values are random bytes, so that compression finds nothing, or made of few words of 8 bytes. */
final class PairJobs {
    private static final VarHandle WORD = MethodHandles.byteArrayViewVarHandle(long[].class, ByteOrder.LITTLE_ENDIAN);

    private PairJobs() {
    }

    static Job groupBy(JavaSparkContext spark, Params params) {
        int reducers = params.count("reducers");
        return new CachedPairs(spark, params) {
            @Override
            public ContentSum run(long seed) {
                return total(pairs.groupByKey(reducers).mapPartitions(PairJobs::sumGroups));
            }
        };
    }

    static Job sortBy(JavaSparkContext spark, Params params) {
        int reducers = params.count("reducers");
        return new CachedPairs(spark, params) {
            @Override
            public ContentSum run(long seed) {
                JavaRDD<SortedPart> parts = pairs.sortByKey(true, reducers).mapPartitions(PairJobs::checkSorted);
                return inOrder(parts.collect());
            }
        };
    }

    static Job tiny(JavaSparkContext spark, Params params) {
        return new Uncached() {
            @Override
            public ContentSum run(long seed) {
                return total(partitioned(spark, params, seed).mapPartitions(PairJobs::sumPairs));
            }
        };
    }

    /** As tiny with seed 0, but all runs after the first one only read the map outputs that it has made. */
    static Job reread(JavaSparkContext spark, Params params) {
        JavaPairRDD<Integer, byte[]> shuffled = partitioned(spark, params, 0);
        return new Uncached() {
            @Override
            public ContentSum run(long seed) {
                return total(shuffled.mapPartitions(PairJobs::sumPairs));
            }
        };
    }

    private static JavaPairRDD<Integer, byte[]> partitioned(JavaSparkContext spark, Params params, long seed) {
        return generate(spark, params, seed).partitionBy(new HashPartitioner(params.count("reducers")));
    }

    static Job reduceByKey(JavaSparkContext spark, Params params) {
        int maps = params.count("maps");
        int reducers = params.count("reducers");
        int perMap = params.count("pairs");
        int keys = params.count("keys");
        ClassTags tags = new ClassTags(params);
        return new Uncached() {
            @Override
            public ContentSum run(long seed) {
                JavaPairRDD<Integer, Long> input = spark.parallelize(numbers(maps), maps)
                    .mapPartitionsToPair(part -> randomNumbers(part.next(), perMap, keys, seed));
                return total(tags.on(input, ClassTags.INT, ClassTags.LONG).reduceByKey(Long::sum, reducers)
                    .mapPartitions(PairJobs::sumNumbers));
            }
        };
    }

    /** What a reduce task of sortby reports. */
    record SortedPart(boolean sorted, boolean empty, int low, int high, ContentSum sum) implements Serializable {
    }

    private abstract static class Uncached implements Job {
        @Override
        public void prepare() {
            // the input is generated inside the measured map tasks
        }

        @Override
        public void release() {
            // nothing is cached
        }
    }

    private abstract static class CachedPairs implements Job {
        protected JavaPairRDD<Integer, byte[]> pairs;
        private final long expected;

        CachedPairs(JavaSparkContext spark, Params params) {
            expected = (long) params.count("maps") * params.count("pairs");
            pairs = generate(spark, params, 1);
        }

        @Override
        public void prepare() {
            pairs = pairs.persist(StorageLevel.MEMORY_ONLY());
            long count = pairs.count();
            if (count != expected) {
                throw new IllegalStateException("generated " + count + " pairs instead of " + expected);
            }
        }

        @Override
        public void release() {
            pairs.unpersist(true);
        }
    }

    private static JavaPairRDD<Integer, byte[]> generate(JavaSparkContext spark, Params params, long seed) {
        int maps = params.count("maps");
        int perMap = params.count("pairs");
        int size = params.count("size");
        int words = params.count("words", 0);
        JavaPairRDD<Integer, byte[]> pairs = spark.parallelize(numbers(maps), maps).mapPartitionsToPair(part -> {
            SplittableRandom random = new SplittableRandom(seed * 1_000_003L + part.next());
            return iterate(perMap, i -> {
                byte[] value = new byte[size];
                fill(value, random, words);
                return new Tuple2<>(random.nextInt(Integer.MAX_VALUE), value);
            });
        });
        return new ClassTags(params).on(pairs, ClassTags.INT, ClassTags.BYTES);
    }

    /** words: how many different ones there are; 0 for random bytes. */
    private static void fill(byte[] value, SplittableRandom random, int words) {
        if (words == 0) {
            random.nextBytes(value);
            return;
        }
        for (int at = 0; at + Long.BYTES <= value.length; at += Long.BYTES) {
            WORD.set(value, at, (1 + random.nextInt(words)) * 0x9e3779b97f4a7c15L);
        }
    }

    static Iterator<Tuple2<Integer, Long>> randomNumbers(int part, int perMap, int keys, long seed) {
        SplittableRandom random = new SplittableRandom(seed * 1_000_003L + part);
        return iterate(perMap, i -> new Tuple2<>(random.nextInt(keys), random.nextLong(1_000_000)));
    }

    static List<Integer> numbers(int count) {
        List<Integer> list = new ArrayList<>(count);
        for (int i = 0; i < count; i++) {
            list.add(i);
        }
        return list;
    }

    static <T> Iterator<T> iterate(int count, IntFunction<T> make) {
        return new Iterator<>() {
            private int next;

            @Override
            public boolean hasNext() {
                return next < count;
            }

            @Override
            public T next() {
                return make.apply(next++);
            }
        };
    }

    private static Iterator<ContentSum> sumPairs(Iterator<Tuple2<Integer, byte[]>> pairs) {
        ContentSum sum = new ContentSum();
        pairs.forEachRemaining(pair -> sum.add(pair._1(), pair._2()));
        return Collections.singleton(sum).iterator();
    }

    static Iterator<ContentSum> sumNumbers(Iterator<Tuple2<Integer, Long>> pairs) {
        ContentSum sum = new ContentSum();
        pairs.forEachRemaining(pair -> sum.add(pair._1(), pair._2().longValue()));
        return Collections.singleton(sum).iterator();
    }

    private static Iterator<ContentSum> sumGroups(Iterator<Tuple2<Integer, Iterable<byte[]>>> groups) {
        ContentSum sum = new ContentSum();
        while (groups.hasNext()) {
            Tuple2<Integer, Iterable<byte[]>> group = groups.next();
            long members = 0;
            for (byte[] value : group._2()) {
                sum.add(group._1(), value);
                members++;
            }
            sum.add(group._1(), members);
        }
        return Collections.singleton(sum).iterator();
    }

    private static Iterator<SortedPart> checkSorted(Iterator<Tuple2<Integer, byte[]>> pairs) {
        ContentSum sum = new ContentSum();
        boolean sorted = true;
        boolean empty = !pairs.hasNext();
        int low = 0;
        int last = Integer.MIN_VALUE;
        while (pairs.hasNext()) {
            Tuple2<Integer, byte[]> pair = pairs.next();
            if (sum.records() == 0) {
                low = pair._1();
            }
            sorted &= pair._1() >= last;
            last = pair._1();
            sum.add(pair._1(), pair._2());
        }
        return Collections.singleton(new SortedPart(sorted, empty, low, last, sum)).iterator();
    }

    private static ContentSum inOrder(List<SortedPart> parts) {
        ContentSum sum = new ContentSum();
        int last = Integer.MIN_VALUE;
        for (SortedPart part : parts) {
            if (!part.sorted() || (!part.empty() && part.low() < last)) {
                throw new IllegalStateException("the result of sortByKey is not sorted");
            }
            last = part.empty() ? last : part.high();
            sum.merge(part.sum());
        }
        return sum;
    }

    static ContentSum total(JavaRDD<ContentSum> sums) {
        ContentSum sum = new ContentSum();
        sums.collect().forEach(sum::merge);
        return sum;
    }
}
