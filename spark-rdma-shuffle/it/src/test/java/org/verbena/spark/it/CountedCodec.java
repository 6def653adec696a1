// SPDX-License-Identifier: Apache-2.0
// A codec for spark.io.compression.codec that says how many of its streams are open.
package org.verbena.spark.it;

import java.io.FilterInputStream;
import java.io.FilterOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.util.concurrent.atomic.AtomicInteger;
import org.apache.spark.SparkConf;
import org.apache.spark.io.CompressionCodec;

/** Leaves bytes as they are. Like zstd's, its streams have to be closed, by whoever and however often. */
public final class CountedCodec implements CompressionCodec {
    /** Streams for writing that are open, in this JVM. */
    static final AtomicInteger OPEN = new AtomicInteger();
    /** All of them so far. */
    static final AtomicInteger OPENED = new AtomicInteger();

    /** Called by Spark. */
    public CountedCodec(SparkConf conf) {
    }

    private static final class Counted extends FilterOutputStream {
        private boolean closed;

        Counted(OutputStream out) {
            super(out);
            OPEN.incrementAndGet();
            OPENED.incrementAndGet();
        }

        @Override
        public void write(byte[] from, int offset, int count) throws IOException {
            out.write(from, offset, count);
        }

        @Override
        public void close() throws IOException {
            if (!closed) {
                closed = true;
                OPEN.decrementAndGet();
                out.close();
            }
        }
    }

    @Override
    public OutputStream compressedOutputStream(OutputStream out) {
        return new Counted(out);
    }

    @Override
    public OutputStream compressedContinuousOutputStream(OutputStream out) {
        return compressedOutputStream(out);
    }

    @Override
    public InputStream compressedInputStream(InputStream in) {
        return new FilterInputStream(in) {
        };
    }

    @Override
    public InputStream compressedContinuousInputStream(InputStream in) {
        return compressedInputStream(in);
    }
}
