// SPDX-License-Identifier: Apache-2.0
// What a map task has taken goes back however it ends: exception, Error, kill.
package org.verbena.spark.it;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Iterator;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.stream.Stream;
import org.apache.spark.HashPartitioner;
import org.apache.spark.SparkException;
import org.apache.spark.TaskContext;
import org.apache.spark.TaskKilledException;
import org.apache.spark.api.java.JavaFutureAction;
import org.apache.spark.api.java.JavaPairRDD;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;
import scala.Tuple2;

@Timeout(120)
class GivenBackTest {
    private static final int PARTITIONS = 20;
    /** Sixteen MiB, twice the memory for map outputs. */
    private static final int RECORDS = 16_000;

    @TempDir
    static Path disk;

    /** Tasks run in this JVM. */
    private static volatile CountDownLatch full;

    enum End { EXCEPTION, ERROR, KILL }

    private static void end(End how) {
        full.countDown();
        if (how == End.EXCEPTION) {
            throw new IllegalStateException("as a task's own code does");
        } else if (how == End.ERROR) {
            throw new AssertionError("as Scala's assert does");
        }
        while (!TaskContext.get().isInterrupted()) {
            Thread.onSpinWait();
        }
        throw new TaskKilledException("killed");
    }

    /** So many records to all partitions, then the end. */
    private static final class Dying implements Iterator<Tuple2<Integer, byte[]>> {
        private final End how;
        private int made;

        Dying(End how) {
            this.how = how;
        }

        @Override
        public boolean hasNext() {
            return true;
        }

        @Override
        public Tuple2<Integer, byte[]> next() {
            if (made == RECORDS) {
                end(how);
            }
            return new Tuple2<>(made++, new byte[1000]);
        }
    }

    private static JavaPairRDD<Integer, byte[]> dying(Application application, End how, int partitions) {
        full = new CountDownLatch(1);
        return application.context().parallelize(List.of(0), 1).mapPartitionsToPair(none -> new Dying(how))
            .partitionBy(new HashPartitioner(partitions));
    }

    private static void assertDies(Application application, End how, int partitions) throws Exception {
        JavaPairRDD<Integer, byte[]> shuffled = dying(application, how, partitions);
        if (how != End.KILL) {
            assertThrows(SparkException.class, shuffled::count);
            return;
        }
        JavaFutureAction<Long> job = shuffled.countAsync();
        full.await();
        job.cancel(true);
        while (application.slabs().usedBytes() > 0 || !files().isEmpty()) { // the task ends after its job; or the test's time-out
            Thread.onSpinWait();
        }
    }

    private static List<Path> descriptors() throws IOException {
        try (Stream<Path> all = Files.list(Path.of("/proc/self/fd"))) {
            return all.filter(Files::isSymbolicLink).map(GivenBackTest::target).filter(file -> file.startsWith(disk)).toList();
        }
    }

    private static Path target(Path link) {
        try {
            return Files.readSymbolicLink(link);
        } catch (IOException e) {
            return link; // closed meanwhile
        }
    }

    private static List<Path> files() throws IOException {
        try (Stream<Path> all = Files.walk(disk)) {
            return all.filter(file -> file.getFileName().toString().startsWith("shuffle_")
                || file.getFileName().toString().startsWith("temp_")).filter(Files::isRegularFile).toList();
        }
    }

    /** More than memory holds, so that there is an overflow file. */
    @ParameterizedTest
    @EnumSource(End.class)
    void memoryFilesAndDescriptorsOfATaskThatDies(End how) throws Exception {
        try (Application application = new Application("spark.verbena.memory=8m", "spark.local.dir=" + disk)) {
            for (int task = 0; task < 2; task++) {
                assertDies(application, how, PARTITIONS);
                assertEquals(0, application.slabs().usedBytes());
                assertEquals(List.of(), files());
                assertEquals(List.of(), descriptors());
            }
            assertEquals(10, application.pairs().groupByKey(4).count());
            assertEquals(0, application.slabs().spilledOutputs(), "what comes next finds memory");
        }
    }

    /** zstd's streams have native memory, which nothing but close() gives back. */
    @ParameterizedTest
    @EnumSource(End.class)
    void streamsThatCompressOfATaskThatDies(End how) throws Exception {
        try (Application application = new Application("spark.shuffle.compress=true",
                "spark.io.compression.codec=" + CountedCodec.class.getName())) {
            int before = CountedCodec.OPEN.get();
            int opened = CountedCodec.OPENED.get();
            assertDies(application, how, PARTITIONS);
            assertTrue(CountedCodec.OPENED.get() - opened >= PARTITIONS);
            assertEquals(before, CountedCodec.OPEN.get());
            assertEquals(0, application.slabs().usedBytes());
        }
    }

    /** Spark's zstd itself; without partitions that merge, which would close them one after the other. */
    @ParameterizedTest
    @EnumSource(End.class)
    void nativeMemoryOfZstdOfATaskThatDies(End how) throws Exception {
        try (Application application = new Application("spark.shuffle.compress=true",
                "spark.io.compression.codec=" + TrackedZstd.class.getName())) {
            TrackedZstd.STREAMS.clear();
            assertDies(application, how, 200);
            assertTrue(TrackedZstd.STREAMS.size() >= 200, TrackedZstd.STREAMS.size() + " streams");
            while (TrackedZstd.open() > 0 && how == End.KILL) {
                Thread.onSpinWait(); // the task ends after its job
            }
            assertEquals(0, TrackedZstd.open());
        }
    }

    /** Past the hash writer, where records are sorted first. */
    @ParameterizedTest
    @ValueSource(ints = {3000, 300_000})
    void memoryOfASortingTaskThatDies(int partitions) throws Exception {
        try (Application application = new Application()) {
            assertDies(application, End.ERROR, partitions);
            assertEquals(0, application.slabs().usedBytes());
        }
    }

    @Test
    void aTaskThatEndsWellKeepsItsOutput() {
        try (Application application = new Application("spark.shuffle.compress=true",
                "spark.io.compression.codec=" + CountedCodec.class.getName())) {
            int before = CountedCodec.OPEN.get();
            assertEquals(10, application.pairs().groupByKey(4).count());
            assertEquals(before, CountedCodec.OPEN.get());
            assertTrue(application.slabs().usedBytes() > 0);
        }
    }
}
