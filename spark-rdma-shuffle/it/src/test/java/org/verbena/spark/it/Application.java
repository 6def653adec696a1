// SPDX-License-Identifier: Apache-2.0
// A real SparkContext in this JVM with the plugin on.
package org.verbena.spark.it;

import static org.junit.jupiter.api.Assertions.assertNotNull;

import java.util.List;
import java.util.stream.IntStream;
import org.apache.spark.SparkConf;
import org.apache.spark.SparkEnv;
import org.apache.spark.api.java.JavaPairRDD;
import org.apache.spark.api.java.JavaSparkContext;
import org.verbena.spark.ShuffleEngine;
import org.verbena.spark.VerbenaPlugin;
import org.verbena.spark.VerbenaShuffleManager;
import org.verbena.spark.store.SlabStore;
import scala.Tuple2;

/** Driver and executor are one process here, therefore tests can reach the executor's slabs. One at a time. */
final class Application implements AutoCloseable {
    /** The numbers that {@link #pairs} holds. */
    static final int RECORDS = 1000;
    private final JavaSparkContext context;

    /** Starts an application; settings are KEY=VALUE. */
    Application(String... settings) {
        SparkConf conf = new SparkConf(false).setMaster("local[2]").setAppName("it")
            .set("spark.ui.enabled", "false").set("spark.driver.host", "127.0.0.1")
            .set("spark.driver.bindAddress", "127.0.0.1").set("spark.plugins", VerbenaPlugin.class.getName());
        for (String setting : settings) {
            String[] parts = setting.split("=", 2);
            conf.set(parts[0], parts[1]);
        }
        context = new JavaSparkContext(conf);
    }

    /** Starts an application with a configuration of the caller's. */
    Application(SparkConf conf) {
        context = new JavaSparkContext(conf);
    }

    JavaSparkContext context() {
        return context;
    }

    /** The executor's engine. */
    ShuffleEngine engine() {
        ShuffleEngine engine = ((VerbenaShuffleManager) SparkEnv.get().shuffleManager()).engine();
        assertNotNull(engine);
        return engine;
    }

    /** The executor's map outputs. */
    SlabStore slabs() {
        SlabStore store = engine().store();
        assertNotNull(store);
        return store;
    }

    /** Keys 0 to 9 with 100 distinct numbers each, made by two map tasks. */
    JavaPairRDD<Integer, Integer> pairs() {
        List<Integer> numbers = IntStream.range(0, RECORDS).boxed().toList();
        return context.parallelize(numbers, 2).mapToPair(i -> new Tuple2<>(i % 10, i));
    }

    /** Sum of all numbers in groups; RECORDS * (RECORDS - 1) / 2 when all is well. */
    static long sum(JavaPairRDD<Integer, Iterable<Integer>> groups) {
        return groups.values().map(group -> {
            long sum = 0;
            for (int number : group) {
                sum += number;
            }
            return sum;
        }).reduce(Long::sum);
    }

    @Override
    public void close() {
        context.close();
    }
}
