// SPDX-License-Identifier: Apache-2.0
// The jobs of the cluster tests; prints one RESULT line per job, equal for every shuffle.
package org.verbena.spark.it;

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

/** Arguments: records, and "kill" when an executor is to be killed in the middle. Run by spark-submit. */
public final class Workload {
    private static final int MAPS = 8;

    private Workload() {
    }

    /** The entry point. */
    public static void main(String[] arguments) throws java.io.IOException {
        int records = Integer.parseInt(arguments[0]);
        try (SparkSession session = SparkSession.builder().getOrCreate()) {
            JavaSparkContext context = new JavaSparkContext(session.sparkContext());
            if (arguments.length > 1 && arguments[1].equals("kill")) {
                killed(context, records);
            } else {
                pairs(context, records);
                small(context);
                sql(session, records);
                blocks(context);
            }
            // From tasks, because the last lines of an executor's log may be lost when its process is ended.
            numbers(context, 4 * MAPS, 4 * MAPS).map(i -> traffic()).distinct().collect()
                .forEach(line -> System.out.println("TRAFFIC " + line));
        }
    }

    private static String traffic() {
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

    private static void result(String job, Object value) {
        System.out.println("RESULT " + job + " " + value);
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

    private static void pairs(JavaSparkContext context, int records) {
        JavaPairRDD<Integer, byte[]> data = data(context, records);
        result("group", data.groupByKey(MAPS).map(Workload::hash).reduce(Long::sum));
        result("sort", data.sortByKey(true, MAPS).mapPartitions(Workload::sortedHash).reduce(Long::sum));
        result("reduce", data.mapToPair(record -> new Tuple2<>(record._1() % 1000, 1L)).reduceByKey(Long::sum, 50)
            .map(sum -> sum._1() * 7919L + sum._2() * 31).reduce(Long::sum));
    }

    private static void small(JavaSparkContext context) {
        result("tiny", numbers(context, 20_000, 20).mapToPair(i -> new Tuple2<>(i, "value-" + i))
            .partitionBy(new HashPartitioner(100)).map(pair -> (long) pair._2().hashCode() * pair._1())
            .reduce(Long::sum));
        result("wide", numbers(context, 20_000, 4).mapToPair(i -> new Tuple2<>(i, i * 3L))
            .partitionBy(new HashPartitioner(3000)).values().reduce(Long::sum));
    }

    private static void sql(SparkSession session, int records) {
        session.conf().set("spark.sql.autoBroadcastJoinThreshold", "-1");
        session.range(records * 2L).selectExpr("id", "id % 1000 g", "repeat(cast(id as string), 8) s")
            .createOrReplaceTempView("l");
        session.range(records).selectExpr("id * 2 id2", "repeat('x', cast(id % 50 as int)) t")
            .createOrReplaceTempView("r");
        result("join", session.sql("select count(*), sum(c), sum(m) from (select g, count(*) c, "
            + "sum(crc32(concat(s, t))) m from l join r on id = id2 group by g)").first());
    }

    private static void blocks(JavaSparkContext context) {
        Broadcast<byte[]> broadcast = context.broadcast(new byte[20 << 20]);
        JavaRDD<Integer> numbers = numbers(context, MAPS, MAPS);
        result("broadcast", numbers.map(i -> (long) broadcast.value().length).reduce(Long::sum));
        JavaRDD<Integer> cached = numbers.map(i -> i * 3).persist(StorageLevel.MEMORY_ONLY_2());
        result("cached", cached.reduce(Integer::sum) + " " + cached.coalesce(1).collect());
    }

    /** The map stage runs, then one executor kills itself in the reduce stage's first attempt. */
    private static void killed(JavaSparkContext context, int records) {
        JavaPairRDD<Integer, Iterable<byte[]>> grouped = data(context, records).groupByKey(MAPS);
        result("killed", grouped.mapPartitionsWithIndex((index, groups) -> {
            org.apache.spark.TaskContext task = org.apache.spark.TaskContext.get();
            if (index == 0 && task.stageAttemptNumber() == 0 && task.attemptNumber() == 0) {
                new ProcessBuilder("kill", "-9", Long.toString(ProcessHandle.current().pid())).start().waitFor();
            }
            long sum = 0;
            while (groups.hasNext()) {
                sum += hash(groups.next());
            }
            return List.of(sum).iterator();
        }, false).reduce(Long::sum));
    }
}
