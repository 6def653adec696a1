// SPDX-License-Identifier: Apache-2.0
// Sizes for Spark's planner where compression is off only because Verbena moves bytes through memory.
package org.verbena.spark.write;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import org.apache.spark.SparkConf;
import org.apache.spark.io.CompressionCodec;
import org.apache.spark.io.CompressionCodec$;
import org.verbena.spark.VerbenaConf;
import org.verbena.spark.store.OutputBuffer;

/**
 * Adaptive execution joins and splits partitions by the sizes that map tasks report. With the sizes of uncompressed bytes
 * it would plan otherwise than without Verbena; therefore a few partitions of each map output are compressed as Spark
 * would have done, and all sizes are reported at that ratio. Blocks, metrics and the index keep the true sizes.
 */
public final class PlannedSizes {
    private static final int SAMPLES = 8;
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
     * Compressed bytes per byte of an output whose streams are closed and which is not yet committed; 1 when Spark is to
     * plan with true sizes. Takes about half a millisecond. Any thread.
     */
    double ratio(OutputBuffer output, int partitions) throws IOException {
        if (codec == null) {
            return 1;
        }
        int[] filled = new int[partitions];
        int count = 0;
        for (int p = 0; p < partitions; p++) {
            if (output.length(p) > 0) {
                filled[count++] = p;
            }
        }
        byte[] sample = new byte[SAMPLE_BYTES];
        long raw = 0;
        long packed = 0;
        int samples = Math.min(SAMPLES, count);
        for (int i = 0; i < samples; i++) {
            int bytes = output.sample(filled[(int) ((long) i * count / samples)], sample);
            raw += bytes;
            packed += compressed(sample, bytes);
        }
        return raw == 0 ? 1 : (double) packed / raw;
    }

    private int compressed(byte[] from, int bytes) throws IOException {
        ByteArrayOutputStream packed = new ByteArrayOutputStream(bytes + 64);
        try (OutputStream stream = codec.compressedOutputStream(packed)) {
            stream.write(from, 0, bytes);
        }
        return packed.size();
    }

    /** All lengths at the ratio; what is not empty stays so, because Spark does not fetch empty blocks. */
    static long[] scaled(long[] lengths, double ratio) {
        if (ratio == 1) {
            return lengths;
        }
        long[] scaled = new long[lengths.length];
        for (int p = 0; p < lengths.length; p++) {
            scaled[p] = lengths[p] == 0 ? 0 : Math.max(1, Math.round(lengths[p] * ratio));
        }
        return scaled;
    }
}
