// SPDX-License-Identifier: Apache-2.0
// Buffers small writes to a stream that is not ours, e.g. one that compresses.
package org.verbena.spark.serial;

import java.io.IOException;
import java.io.OutputStream;
import org.verbena.spark.store.ByteSink;

/** Closes the stream below with itself. Belongs to one thread. */
final class SinkOver extends ByteSink {
    private static final int BUFFER = 4 << 10;

    private final OutputStream out;

    private SinkOver(OutputStream out) {
        super(BUFFER);
        this.out = out;
    }

    /** The stream itself if it is a sink already. */
    static ByteSink of(OutputStream out) {
        return out instanceof ByteSink sink ? sink : new SinkOver(out);
    }

    @Override
    protected void drain(byte[] from, int offset, int count) throws IOException {
        out.write(from, offset, count);
    }

    @Override
    public void flush() throws IOException {
        drainAll();
        out.flush();
    }

    @Override
    public void close() throws IOException {
        try {
            drainAll();
        } finally {
            out.close();
        }
    }
}
