// SPDX-License-Identifier: Apache-2.0
// Structured Streaming: counts and sums by key, stopped half-way and started again from its checkpoint.
package org.verbena.ohb.spark;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Comparator;
import java.util.List;
import java.util.SplittableRandom;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicReference;
import java.util.stream.Stream;
import org.apache.spark.api.java.function.VoidFunction2;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.functions;
import org.apache.spark.sql.streaming.StreamingQuery;
import org.apache.spark.sql.streaming.StreamingQueryException;
import org.apache.spark.sql.streaming.StreamingQueryProgress;

/** One micro-batch for each file. The result is the state after the last one: that of a query which never stopped. */
final class StreamingJob implements Job {
    private final SparkSession spark;
    private final int files;
    private final int perFile;
    private final int keys;

    StreamingJob(SparkSession spark, Params params) {
        this.spark = spark.newSession();
        this.spark.conf().set("spark.sql.shuffle.partitions", params.count("reducers"));
        files = params.count("files");
        perFile = params.count("pairs");
        keys = params.count("keys");
    }

    @Override
    public void prepare() {
        // each run has files and a checkpoint of its own
    }

    @Override
    public ContentSum run(long seed) {
        try {
            Path folder = Files.createTempDirectory("verbena-streaming-");
            try {
                SplittableRandom random = new SplittableRandom(seed);
                Path input = Files.createDirectory(folder.resolve("input"));
                part(folder, input, random, 0, files / 2);
                return sum(part(folder, input, random, files / 2, files));
            } finally {
                remove(folder);
            }
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        } catch (TimeoutException | StreamingQueryException e) {
            throw new IllegalStateException("the query failed", e);
        }
    }

    /** Writes some files, starts the query until it has read them, and stops it; what its last batch told. */
    private List<Row> part(Path folder, Path input, SplittableRandom random, int from, int to)
            throws IOException, TimeoutException, StreamingQueryException {
        for (int file = from; file < to; file++) {
            write(folder, input.resolve(file + ".csv"), random);
        }
        AtomicReference<List<Row>> last = new AtomicReference<>();
        VoidFunction2<Dataset<Row>, Long> keep = (batch, id) -> last.set(batch.collectAsList());
        StreamingQuery query = aggregated(input).writeStream().outputMode("complete").foreachBatch(keep)
            .option("checkpointLocation", folder.resolve("checkpoint").toString()).start();
        try {
            query.processAllAvailable();
            long read = 0;
            for (StreamingQueryProgress progress : query.recentProgress()) {
                read += progress.numInputRows();
            }
            if (read != (long) perFile * (to - from)) {
                throw new IllegalStateException("read " + read + " rows: not those which are new since the checkpoint");
            }
        } finally {
            query.stop();
        }
        return last.get();
    }

    private Dataset<Row> aggregated(Path input) {
        return spark.readStream().schema("k INT, v BIGINT").option("maxFilesPerTrigger", 1).csv(input.toString())
            .groupBy("k").agg(functions.count("*"), functions.sum("v"), functions.max("v"));
    }

    /** The query must not see a file that is half written. */
    private void write(Path folder, Path file, SplittableRandom random) throws IOException {
        StringBuilder text = new StringBuilder();
        for (int i = 0; i < perFile; i++) {
            text.append(random.nextInt(keys)).append(',').append(random.nextLong(1_000_000)).append('\n');
        }
        Path unseen = Files.writeString(folder.resolve("unseen"), text);
        Files.move(unseen, file);
    }

    private static ContentSum sum(List<Row> rows) {
        ContentSum sum = new ContentSum();
        rows.forEach(row -> sum.add(row.mkString("|")));
        return sum;
    }

    private static void remove(Path folder) throws IOException {
        try (Stream<Path> paths = Files.walk(folder)) {
            for (Path path : paths.sorted(Comparator.reverseOrder()).toList()) {
                Files.delete(path);
            }
        }
    }

    @Override
    public void release() {
        // nothing is kept
    }
}
