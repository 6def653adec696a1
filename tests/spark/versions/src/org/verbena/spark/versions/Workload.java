// SPDX-License-Identifier: Apache-2.0
// RDD and SQL jobs that every supported Spark runs; their results are equal for every shuffle.
package org.verbena.spark.versions;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.Iterator;
import java.util.List;
import java.util.Random;
import java.util.stream.IntStream;
import org.apache.spark.HashPartitioner;
import org.apache.spark.api.java.JavaPairRDD;
import org.apache.spark.api.java.JavaRDD;
import org.apache.spark.api.java.JavaSparkContext;
import org.apache.spark.broadcast.Broadcast;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.storage.StorageLevel;
import scala.Tuple2;

/** Called by job.py; compiled against the Spark that runs it. */
public final class Workload {
    private static final int MAPS = 8;

    private Workload() {
    }

    /** Runs all jobs with so many records; one line per job. */
    public static List<String> run(JavaSparkContext context, SparkSession session, int records) {
        List<String> results = new ArrayList<>();
        JavaPairRDD<Integer, byte[]> data = data(context, records);
        results.add("group " + data.groupByKey(MAPS).map(Workload::hash).reduce(Long::sum));
        results.add("sort " + data.sortByKey(true, MAPS).mapPartitions(Workload::sortedHash).reduce(Long::sum));
        results.add("reduce " + data.mapToPair(record -> new Tuple2<>(record._1() % 1000, 1L))
            .reduceByKey(Long::sum, 20).map(sum -> sum._1() * 7919L + sum._2() * 31).reduce(Long::sum));
        results.add("tiny " + numbers(context, 20_000, 20).mapToPair(i -> new Tuple2<>(i, "value-" + i))
            .partitionBy(new HashPartitioner(100)).map(pair -> (long) pair._2().hashCode() * pair._1()).coalesce(4)
            .reduce(Long::sum));
        results.add("wide " + numbers(context, 20_000, 4).mapToPair(i -> new Tuple2<>(i, i * 3L))
            .partitionBy(new HashPartitioner(3000)).values().coalesce(4).reduce(Long::sum));
        results.add("join " + join(session, records));
        Broadcast<byte[]> broadcast = context.broadcast(new byte[20 << 20]);
        JavaRDD<Integer> numbers = numbers(context, MAPS, MAPS);
        results.add("broadcast " + numbers.map(i -> (long) broadcast.value().length).reduce(Long::sum));
        JavaRDD<Integer> cached = numbers.map(i -> i * 3).persist(StorageLevel.MEMORY_ONLY_2());
        results.add("cached " + cached.reduce(Integer::sum) + " " + cached.coalesce(1).collect());
        return results;
    }

    /** The executors' counters, told by tasks, because the last lines of an executor's log may be lost at its end. */
    public static List<String> traffic(JavaSparkContext context) {
        return numbers(context, 4 * MAPS, 4 * MAPS).map(i -> counters()).distinct().collect();
    }

    private static String counters() {
        org.apache.spark.shuffle.ShuffleManager manager = org.apache.spark.SparkEnv.get().shuffleManager();
        return manager.getClass().getName().endsWith("VerbenaShuffleManager") ? Ours.traffic(manager) : "stock";
    }

    /** Loaded only where the plugin is. */
    private static final class Ours {
        static String traffic(org.apache.spark.shuffle.ShuffleManager manager) {
            org.verbena.spark.ShuffleEngine engine = ((org.verbena.spark.VerbenaShuffleManager) manager).engine();
            org.verbena.spark.store.SlabStore store = engine == null ? null : engine.existingStore();
            return engine == null ? "none" : engine.traffic() + "; spilled " + (store == null ? 0 : store.spilledBytes());
        }
    }

    private static JavaRDD<Integer> numbers(JavaSparkContext context, int count, int slices) {
        return context.parallelize(IntStream.range(0, count).boxed().toList(), slices);
    }

    private static JavaPairRDD<Integer, byte[]> data(JavaSparkContext context, int records) {
        return numbers(context, MAPS, MAPS).flatMapToPair(seed -> {
            Random random = new Random(seed);
            return IntStream.range(0, records / MAPS).mapToObj(i -> {
                byte[] value = new byte[1000];
                random.nextBytes(value);
                return new Tuple2<>(random.nextInt(records / 4), value);
            }).iterator();
        });
    }

    private static long hash(Tuple2<Integer, Iterable<byte[]>> group) {
        long sum = group._1();
        for (byte[] value : group._2()) {
            sum += Arrays.hashCode(value) * 31L + 1;
        }
        return sum;
    }

    private static Iterator<Long> sortedHash(Iterator<Tuple2<Integer, byte[]>> records) {
        long sum = 0;
        int last = Integer.MIN_VALUE;
        while (records.hasNext()) {
            Tuple2<Integer, byte[]> record = records.next();
            if (record._1() < last) {
                throw new IllegalStateException("not sorted");
            }
            last = record._1();
            sum += Arrays.hashCode(record._2());
        }
        return List.of(sum).iterator();
    }

    private static Object join(SparkSession session, int records) {
        session.range(records * 2L).selectExpr("id", "id % 1000 g", "repeat(cast(id as string), 8) s")
            .createOrReplaceTempView("l");
        session.range(records).selectExpr("id * 2 id2", "repeat('x', cast(id % 50 as int)) t")
            .createOrReplaceTempView("r");
        return session.sql("select count(*), sum(c), sum(m) from (select g, count(*) c, "
            + "sum(crc32(concat(s, t))) m from l join r on id = id2 group by g)").first();
    }
}
