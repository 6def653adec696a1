// SPDX-License-Identifier: Apache-2.0
// A barrier stage: reads a shuffle, exchanges sums among its tasks, and writes another shuffle.
package org.verbena.ohb.spark;

import java.io.Serializable;
import java.util.ArrayList;
import java.util.List;
import org.apache.spark.BarrierTaskContext;
import org.apache.spark.HashPartitioner;
import org.apache.spark.api.java.JavaPairRDD;
import org.apache.spark.api.java.JavaSparkContext;
import org.apache.spark.rdd.RDD;
import scala.Function1;
import scala.Tuple2;
import scala.collection.Iterator;
import scala.jdk.javaapi.CollectionConverters;
import scala.reflect.ClassTag;
import scala.reflect.ClassTag$;

/** With fails=yes a task of the first attempt fails when it has written its records, and Spark repeats the whole stage. */
final class BarrierJob implements Job {
    private final JavaSparkContext spark;
    private final int maps;
    private final int perMap;
    private final int tasks;
    private final int reducers;
    private final boolean fails;

    BarrierJob(JavaSparkContext spark, Params params) {
        this.spark = spark;
        maps = params.count("maps");
        perMap = params.count("pairs");
        tasks = params.count("tasks");
        reducers = params.count("reducers");
        fails = params.text("fails").equals("yes");
    }

    @Override
    public void prepare() {
        // the input is generated inside the map tasks
    }

    @Override
    public ContentSum run(long seed) {
        int each = perMap; // tasks must not take this object with them
        RDD<Tuple2<Integer, Long>> shuffled = spark.parallelize(PairJobs.numbers(maps), maps)
            .mapPartitionsToPair(part -> PairJobs.randomNumbers(part.next(), each, each, seed))
            .partitionBy(new HashPartitioner(tasks)).rdd();
        ClassTag<Tuple2<Integer, Long>> pair = ClassTag$.MODULE$.apply(Tuple2.class);
        ClassTag<Integer> key = ClassTag$.MODULE$.apply(Integer.class);
        ClassTag<Long> value = ClassTag$.MODULE$.apply(Long.class);
        RDD<Tuple2<Integer, Long>> together = shuffled.barrier().mapPartitions(exchange(fails), false, pair);
        return PairJobs.total(JavaPairRDD.fromRDD(together, key, value).partitionBy(new HashPartitioner(reducers))
            .mapPartitions(PairJobs::sumNumbers));
    }

    /** Adds to each value the sum of all values of all tasks. */
    private static Function1<Iterator<Tuple2<Integer, Long>>, Iterator<Tuple2<Integer, Long>>> exchange(boolean fails) {
        return (Function1<Iterator<Tuple2<Integer, Long>>, Iterator<Tuple2<Integer, Long>>> & Serializable) pairs -> {
            BarrierTaskContext task = BarrierTaskContext.get();
            List<Tuple2<Integer, Long>> mine = new ArrayList<>();
            CollectionConverters.asJava(pairs).forEachRemaining(mine::add);
            long own = mine.stream().mapToLong(Tuple2::_2).sum();
            long all = 0;
            for (String sum : task.allGather(Long.toString(own))) {
                all += Long.parseLong(sum);
            }
            boolean failsNow = fails && task.stageAttemptNumber() == 0 && task.partitionId() == 0;
            return CollectionConverters.asScala(added(mine, all, failsNow));
        };
    }

    private static java.util.Iterator<Tuple2<Integer, Long>> added(List<Tuple2<Integer, Long>> pairs, long sum, boolean fails) {
        return PairJobs.iterate(pairs.size() + (fails ? 1 : 0), i -> {
            if (i == pairs.size()) {
                throw new IllegalStateException("this attempt fails, as it was told");
            }
            return new Tuple2<>(pairs.get(i)._1(), pairs.get(i)._2() + sum);
        });
    }

    @Override
    public void release() {
        // nothing is cached
    }
}
