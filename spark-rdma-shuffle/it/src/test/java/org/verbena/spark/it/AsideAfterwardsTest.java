// SPDX-License-Identifier: Apache-2.0
// Executors without slabs of an application whose driver has turned compression off.
package org.verbena.spark.it;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.stream.Stream;
import org.apache.spark.HashPartitioner;
import org.apache.spark.SparkEnv;
import org.apache.spark.api.java.JavaPairRDD;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.verbena.spark.Later;
import org.verbena.spark.VerbenaPlugin;
import org.verbena.spark.VerbenaShuffleManager;

@Timeout(120)
class AsideAfterwardsTest {
    private static final int BYTES = 4000;
    private static final String KRYO = "org.apache.spark.serializer.KryoSerializer";

    private static final long SUM = Application.RECORDS * (Application.RECORDS - 1L) / 2;

    @TempDir
    Path disk;

    private static byte[] value(int number) {
        byte[] value = new byte[BYTES];
        Arrays.fill(value, (byte) number);
        return value;
    }

    private List<Path> files(String end) throws IOException {
        try (Stream<Path> all = Files.walk(disk)) {
            return all.filter(file -> file.getFileName().toString().startsWith("shuffle_")
                && file.getFileName().toString().endsWith(end)).toList();
        }
    }

    private static long sizes(List<Path> files) throws IOException {
        long bytes = 0;
        for (Path file : files) {
            bytes += Files.size(file);
        }
        return bytes;
    }

    /** Spark's three writers: one file a partition, records sorted as bytes, records sorted as objects. */
    @ParameterizedTest
    @CsvSource({"3, org.apache.spark.serializer.JavaSerializer", "300, " + KRYO,
        "300, org.apache.spark.serializer.JavaSerializer"})
    void theirMapOutputsAreCompressedInFilesAndRead(int partitions, String serializer) throws IOException {
        try (Application application = new Application("spark.plugins=" + VerbenaPlugin.class.getName() + ","
                + NoKey.class.getName(), "spark.local.dir=" + disk, "spark.serializer=" + serializer)) {
            JavaPairRDD<Integer, byte[]> shuffled = application.pairs().mapToPair(pair ->
                new scala.Tuple2<>(pair._2(), value(pair._2()))).partitionBy(new HashPartitioner(partitions));
            assertEquals(Application.RECORDS, shuffled.filter(pair -> Arrays.equals(value(pair._1()), pair._2())).count());
            assertNull(((VerbenaShuffleManager) SparkEnv.get().shuffleManager()).engine());
            assertEquals("false", SparkEnv.get().conf().get("spark.shuffle.compress"));
            assertEquals(2, files(".data").size());
            assertTrue(sizes(files(".data")) < Application.RECORDS * BYTES / 4, sizes(files(".data")) + " bytes");
        }
    }

    /** Here the key comes late; it may as well be a port, memory or descriptors that others had. */
    @Test
    void anEngineThatDidNotStartIsTriedAgain() throws IOException {
        try (Application application = new Application("spark.plugins=" + VerbenaPlugin.class.getName() + ","
                + NoKey.class.getName(), "spark.local.dir=" + disk)) {
            VerbenaShuffleManager manager = (VerbenaShuffleManager) SparkEnv.get().shuffleManager();
            JavaPairRDD<Integer, Iterable<Integer>> before = application.pairs().groupByKey(3);
            assertEquals(SUM, Application.sum(before));
            assertNull(manager.engine());
            SparkEnv.get().conf().set("spark.verbena.internal.secret", "00".repeat(32));
            assertNull(Later.engine(manager, 20), "it has failed lately");
            assertNotNull(Later.engine(manager, 31));
            assertEquals(SUM, Application.sum(application.pairs().groupByKey(3)));
            assertEquals(2, files(".data").size(), "of the job before");
            assertEquals(SUM, Application.sum(before), "which are read on");
        }
    }
}
