// SPDX-License-Identifier: Apache-2.0
// Spark's own zstd codec, which remembers its streams.
package org.verbena.spark.it;

import java.io.IOException;
import java.io.OutputStream;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import org.apache.spark.SparkConf;
import org.apache.spark.io.ZStdCompressionCodec;

/** For spark.io.compression.codec. Its streams have native memory, which nothing but close() gives back. */
public final class TrackedZstd extends ZStdCompressionCodec {
    /** All streams for writing of this JVM so far. */
    static final List<OutputStream> STREAMS = Collections.synchronizedList(new ArrayList<>());

    /** Called by Spark. */
    public TrackedZstd(SparkConf conf) {
        super(conf);
    }

    @Override
    public OutputStream compressedOutputStream(OutputStream out) {
        OutputStream made = super.compressedOutputStream(out);
        STREAMS.add(made);
        return made;
    }

    /** How many of them have native memory: a closed one refuses to be flushed, before it asks its own output. */
    static long open() {
        return List.copyOf(STREAMS).stream().filter(TrackedZstd::isOpen).count();
    }

    private static boolean isOpen(OutputStream stream) {
        try {
            stream.flush();
            return true;
        } catch (IOException e) {
            return !"StreamClosed".equals(e.getMessage());
        }
    }
}
