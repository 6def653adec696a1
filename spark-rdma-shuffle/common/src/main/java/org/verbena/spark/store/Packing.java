// SPDX-License-Identifier: Apache-2.0
// Compression of map outputs on disk, where they are not compressed in memory.
package org.verbena.spark.store;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.nio.ByteBuffer;
import java.nio.channels.WritableByteChannel;
import org.apache.spark.SparkConf;
import org.apache.spark.io.CompressionCodec;
import org.apache.spark.io.CompressionCodec$;
import org.verbena.spark.VerbenaConf;

/**
 * Spark's own codec ({@code spark.io.compression.codec}) for the partitions in files ({@link PackedFile}), which Spark's
 * shuffle would have compressed, too. Thread safe.
 */
public final class Packing {
    /** Enough to judge by: a block of Spark's default codec. */
    static final int SAMPLE_BYTES = 32 << 10;
    private static final int STEP = 32 << 10;

    private final CompressionCodec codec;

    private Packing(CompressionCodec codec) {
        this.codec = codec;
    }

    /** For an application's configuration as the driver has completed it; null where files are as Spark would write them. */
    public static Packing of(SparkConf conf) {
        return conf.getBoolean(VerbenaConf.PACK_FILES, false) ? new Packing(CompressionCodec$.MODULE$.createCodec(conf)) : null;
    }

    /** Whether bytes like these shrink by a tenth or more; false for none. */
    boolean pays(byte[] sample, int bytes) throws IOException {
        if (bytes == 0) {
            return false;
        }
        ByteArrayOutputStream packed = new ByteArrayOutputStream(bytes + 64);
        try (OutputStream stream = codec.compressedOutputStream(packed)) {
            stream.write(sample, 0, bytes);
        }
        return packed.size() <= bytes - bytes / 10;
    }

    /** What {@link Channel} has written, as it was. */
    InputStream unpacked(InputStream packed) {
        return codec.compressedInputStream(packed);
    }

    /** One partition on its way to a file, which stays open. Nothing is written for nothing. Belongs to one thread. */
    final class Channel implements WritableByteChannel {
        private final OutputStream file;
        private final byte[] step = new byte[STEP];
        private OutputStream packed;

        Channel(OutputStream file) {
            this.file = file;
        }

        @Override
        public int write(ByteBuffer from) throws IOException {
            int bytes = from.remaining();
            if (packed == null && bytes > 0) {
                packed = codec.compressedOutputStream(new Borrowed(file));
            }
            while (from.hasRemaining()) {
                int some = Math.min(step.length, from.remaining());
                from.get(step, 0, some);
                packed.write(step, 0, some);
            }
            return bytes;
        }

        @Override
        public boolean isOpen() {
            return true;
        }

        /** Ends the partition; the next write begins another one. */
        @Override
        public void close() throws IOException {
            if (packed != null) {
                packed.close();
                packed = null;
            }
        }
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
