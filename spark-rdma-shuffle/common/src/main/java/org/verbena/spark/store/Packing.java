// SPDX-License-Identifier: Apache-2.0
// Compression of map outputs on disk, where they are not compressed in memory.
package org.verbena.spark.store;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import org.apache.spark.SparkConf;
import org.apache.spark.io.CompressionCodec;
import org.apache.spark.io.CompressionCodec$;
import org.verbena.spark.settings.VerbenaConf;

/**
 * Spark's own codec ({@code spark.io.compression.codec}) for the partitions in files ({@link PackedFile}), which Spark's
 * shuffle would have compressed, too. Thread safe.
 */
public final class Packing {
    /** Enough to judge by: a block of Spark's default codec. */
    private static final int SAMPLE_BYTES = 32 << 10;

    private final CompressionCodec codec;

    private Packing(CompressionCodec codec) {
        this.codec = codec;
    }

    /** For an application's configuration as the driver has completed it; null where files are as Spark would write them. */
    public static Packing of(SparkConf conf) {
        if (!conf.getBoolean(VerbenaConf.PACK_FILES, false)) {
            return null;
        }
        CompressionCodec codec = CompressionCodec$.MODULE$.createCodec(conf);
        // A partition that overflows consists of several streams; all of Spark's codecs allow that.
        return CompressionCodec$.MODULE$.supportsConcatenationOfSerializedStreams(codec) ? new Packing(codec) : null;
    }

    /** Copies the first bytes of a large partition; returns how many, 0 if none are at hand. */
    interface Sample {
        int copy(byte[] into) throws IOException;
    }

    /** The same packing if it pays for what a sample stands for, else null. */
    static Packing orNull(Packing packing, Sample sample) throws IOException {
        if (packing == null) {
            return null;
        }
        byte[] some = new byte[SAMPLE_BYTES];
        return packing.pays(some, sample.copy(some)) ? packing : null;
    }

    /** Whether bytes like these shrink by a tenth or more; false for none. */
    private boolean pays(byte[] sample, int bytes) throws IOException {
        if (bytes == 0) {
            return false;
        }
        ByteArrayOutputStream packed = new ByteArrayOutputStream(bytes + 64);
        try (OutputStream stream = codec.compressedOutputStream(packed)) {
            stream.write(sample, 0, bytes);
        }
        return packed.size() <= bytes - bytes / 10;
    }

    /** What {@link #packed} has written, as it was. */
    InputStream unpacked(InputStream packed) {
        return codec.compressedInputStream(packed);
    }

    /** A stream that compresses into another one, which stays open. What it writes may follow what others of it wrote. */
    OutputStream packed(OutputStream to) throws IOException {
        return codec.compressedOutputStream(new Borrowed(to));
    }

    /** A stream whose end is not the file's. */
    private static final class Borrowed extends OutputStream {
        private final OutputStream to;

        Borrowed(OutputStream to) {
            this.to = to;
        }

        @Override
        public void write(int one) throws IOException {
            to.write(one);
        }

        @Override
        public void write(byte[] from, int offset, int count) throws IOException {
            to.write(from, offset, count);
        }
    }
}
