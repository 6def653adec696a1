// SPDX-License-Identifier: Apache-2.0
// Sizes for Spark's planner where compression is off only because Verbena moves bytes through memory.
package org.verbena.spark.write;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.util.Comparator;
import java.util.stream.IntStream;
import org.apache.spark.SparkConf;
import org.apache.spark.io.CompressionCodec;
import org.apache.spark.io.CompressionCodec$;
import org.verbena.spark.settings.VerbenaConf;
import org.verbena.spark.store.OutputBuffer;

/**
 * Adaptive execution joins and splits partitions by the sizes that map tasks report. With the sizes of uncompressed bytes
 * it would plan otherwise than without Verbena. Therefore partitions are compressed as Spark would have done: all of
 * them in a small output, where the codec's overhead and the luck of few rows decide; in a larger one the beginnings of
 * the largest partitions and of a few more, whose mean ratio the others get. Blocks, metrics, the index and fetches keep
 * the true sizes ({@link PlannedStatus}).
 */
public final class PlannedSizes {
    /** Outputs up to this size get the compressed size of every partition. */
    static final long EXACT_BYTES = 512 << 10;
    private static final int LARGEST = 4;
    private static final int SPREAD = 8;
    /** A block of Spark's default codec. */
    private static final int SAMPLE_BYTES = 32 << 10;

    private final CompressionCodec codec;

    private PlannedSizes(CompressionCodec codec) {
        this.codec = codec;
    }

    /** For an application's configuration as the driver has completed it. */
    public static PlannedSizes of(SparkConf conf) {
        return new PlannedSizes(conf.getBoolean(VerbenaConf.PLAN_COMPRESSED, false)
            ? CompressionCodec$.MODULE$.createCodec(conf) : null);
    }

    /**
     * Sizes for the planner of an output whose streams are closed and which is not yet committed. Takes a millisecond or
     * less. Any thread.
     *
     * @return bytes of each partition, at least 1 where it is not empty; null when Spark is to plan with true sizes
     */
    long[] planned(OutputBuffer output, int partitions) throws IOException {
        if (codec == null) {
            return null;
        }
        long total = 0;
        for (int p = 0; p < partitions; p++) {
            total += output.length(p);
        }
        return total == 0 ? null : total <= EXACT_BYTES ? exact(output, partitions) : sampled(output, partitions);
    }

    private long[] exact(OutputBuffer output, int partitions) throws IOException {
        long[] sizes = new long[partitions];
        for (int p = 0; p < partitions; p++) {
            long length = output.length(p);
            sizes[p] = length == 0 ? 0 : scaled(length, ratio(output, p, new byte[(int) length]));
        }
        return sizes;
    }

    private long[] sampled(OutputBuffer output, int partitions) throws IOException {
        int[] filled = IntStream.range(0, partitions).filter(p -> output.length(p) > 0).toArray();
        byte[] sample = new byte[SAMPLE_BYTES];
        double[] own = new double[partitions];
        double sum = 0;
        int spread = Math.min(SPREAD, filled.length);
        for (int i = 0; i < spread; i++) {
            int p = filled[(int) ((long) i * filled.length / spread)];
            own[p] = ratio(output, p, sample);
            sum += own[p];
        }
        for (int p : IntStream.of(filled).boxed().sorted(Comparator.comparingLong(p -> -output.length(p)))
                .limit(LARGEST).mapToInt(p -> p).toArray()) {
            own[p] = own[p] > 0 ? own[p] : ratio(output, p, sample);
        }
        long[] sizes = new long[partitions];
        for (int p : filled) {
            sizes[p] = scaled(output.length(p), own[p] > 0 ? own[p] : sum / spread);
        }
        return sizes;
    }

    /** Compressed bytes per byte at a partition's beginning; 1 when all its bytes are in a file already. */
    private double ratio(OutputBuffer output, int partition, byte[] sample) throws IOException {
        int bytes = output.sample(partition, sample);
        if (bytes == 0) {
            return 1;
        }
        ByteArrayOutputStream packed = new ByteArrayOutputStream(bytes + 64);
        try (OutputStream stream = codec.compressedOutputStream(packed)) {
            stream.write(sample, 0, bytes);
        }
        return (double) packed.size() / bytes;
    }

    /** What is not empty stays so, because Spark does not fetch empty blocks. */
    static long scaled(long length, double ratio) {
        return Math.max(1, Math.round(length * ratio));
    }
}
