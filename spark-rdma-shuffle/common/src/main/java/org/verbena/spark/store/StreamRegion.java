// SPDX-License-Identifier: Apache-2.0
// A block that has to be read from a stream, on its way to a socket.
package org.verbena.spark.store;

import java.io.EOFException;
import java.io.IOException;
import java.io.InputStream;
import java.nio.ByteBuffer;
import java.nio.channels.WritableByteChannel;
import org.apache.spark.network.buffer.ManagedBuffer;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Opens the block when the first byte is sent, and holds one step of it. */
final class StreamRegion extends WholeRegion {
    private static final Logger LOG = LoggerFactory.getLogger(StreamRegion.class);
    private static final int STEP = 64 << 10;

    private final ManagedBuffer block;
    private InputStream stream;
    private ByteBuffer step = ByteBuffer.allocate(0);

    StreamRegion(ManagedBuffer block) {
        super(block.size());
        this.block = block;
    }

    /** Writes what the target takes; only from where the last write ended, as Netty asks. */
    @Override
    public long transferTo(WritableByteChannel target, long position) throws IOException {
        if (position == count()) {
            return 0;
        } else if (position != transferred()) {
            throw new IOException("byte " + position + " of a block was asked for after byte " + transferred());
        }
        if (!step.hasRemaining()) {
            read();
        }
        int written = target.write(step);
        return taken(written);
    }

    private void read() throws IOException {
        if (stream == null) {
            stream = block.createInputStream();
            step = ByteBuffer.allocate((int) Math.min(STEP, count()));
        }
        int some = stream.readNBytes(step.array(), 0, (int) Math.min(step.capacity(), count() - transferred()));
        if (some == 0) {
            throw new EOFException("a block ended after " + transferred() + " of " + count() + " bytes");
        }
        step.clear().limit(some);
    }

    @Override
    protected void deallocate() {
        try {
            if (stream != null) {
                stream.close();
            }
        } catch (IOException e) {
            LOG.debug("cannot close a block's file", e);
        }
    }
}
