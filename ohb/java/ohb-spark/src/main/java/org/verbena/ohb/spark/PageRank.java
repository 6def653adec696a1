// SPDX-License-Identifier: Apache-2.0
// Row pagerank: the iterative job of OSU's talks, as in Spark's example of that name, over a generated graph.
package org.verbena.ohb.spark;

import java.util.Iterator;
import java.util.SplittableRandom;
import java.util.stream.IntStream;
import org.apache.spark.HashPartitioner;
import org.apache.spark.api.java.JavaPairRDD;
import org.apache.spark.api.java.JavaSparkContext;
import org.apache.spark.storage.StorageLevel;
import scala.Tuple2;

/** The graph is cached; each iteration shuffles what pages give each other. Few pages have most of the links. */
final class PageRank implements Job {
    /** Ranks are fixed-point numbers: sums of them do not depend on an order. */
    private static final long ONE = 1L << 32;
    private static final int DAMPING = 85; // percent

    private final int iterations;
    private final int parts;
    private final int pages;
    private final ClassTags tags;
    private JavaPairRDD<Integer, int[]> links;

    PageRank(JavaSparkContext spark, Params params) {
        iterations = params.count("iterations");
        parts = params.count("reducers");
        pages = params.count("pages");
        tags = new ClassTags(params);
        int all = pages; // tasks must not take this object with them
        int of = parts;
        int each = params.count("links");
        links = tags.on(spark.parallelize(PairJobs.numbers(parts), parts)
            .mapPartitionsToPair(part -> pagesOf(part.next(), of, all, each)), ClassTags.INT, ClassTags.INTS);
    }

    @Override
    public void prepare() {
        links = links.partitionBy(new HashPartitioner(parts)).persist(StorageLevel.MEMORY_ONLY());
        long count = links.count();
        if (count != pages) {
            throw new IllegalStateException("generated " + count + " pages instead of " + pages);
        }
    }

    @Override
    public ContentSum run(long seed) {
        JavaPairRDD<Integer, Long> ranks = links.mapValues(targets -> ONE);
        for (int i = 0; i < iterations; i++) {
            JavaPairRDD<Integer, Long> given = links.join(ranks).flatMapToPair(page -> shares(page._2()._1(), page._2()._2()));
            ranks = tags.on(given, ClassTags.INT, ClassTags.LONG).reduceByKey(Long::sum, parts)
                .mapValues(sum -> ONE / 100 * (100 - DAMPING) + sum / 100 * DAMPING);
        }
        return PairJobs.total(ranks.mapPartitions(PairJobs::sumNumbers));
    }

    @Override
    public void release() {
        links.unpersist(true);
    }

    private static Iterator<Tuple2<Integer, int[]>> pagesOf(int part, int parts, int pages, int each) {
        SplittableRandom random = new SplittableRandom(part);
        int first = (int) ((long) pages * part / parts);
        int end = (int) ((long) pages * (part + 1) / parts);
        return PairJobs.iterate(end - first, i -> {
            int count = 1 + random.nextInt(2 * each - 1);
            int[] targets = IntStream.range(0, count).map(n -> target(random.nextDouble(), pages)).toArray();
            return new Tuple2<>(first + i, targets);
        });
    }

    /** Not Math.pow, which compiled and interpreted code may round differently: both sides need the same graph. */
    private static int target(double chance, int pages) {
        return (int) (pages * (chance * chance * chance));
    }

    private static Iterator<Tuple2<Integer, Long>> shares(int[] targets, long rank) {
        return PairJobs.iterate(targets.length, i -> new Tuple2<>(targets[i], rank / targets.length));
    }
}
