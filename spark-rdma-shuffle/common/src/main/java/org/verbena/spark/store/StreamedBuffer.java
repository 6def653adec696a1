// SPDX-License-Identifier: Apache-2.0
// A block that is read as a stream and holds nothing while nobody reads.
package org.verbena.spark.store;

import io.netty.buffer.Unpooled;
import java.io.IOException;
import java.io.InputStream;
import java.nio.ByteBuffer;
import org.apache.spark.network.buffer.ManagedBuffer;

/** What follows from size and stream; references are not counted. */
public abstract class StreamedBuffer extends ManagedBuffer {
    @Override
    public ByteBuffer nioByteBuffer() throws IOException {
        try (InputStream in = createInputStream()) {
            return ByteBuffer.wrap(in.readNBytes(Math.toIntExact(size())));
        }
    }

    @Override
    public Object convertToNetty() throws IOException {
        return Unpooled.wrappedBuffer(nioByteBuffer());
    }

    /** Spark 4.x. */
    public Object convertToNettyForSsl() throws IOException {
        return Unpooled.wrappedBuffer(nioByteBuffer());
    }

    @Override
    public ManagedBuffer retain() {
        return this;
    }

    @Override
    public ManagedBuffer release() {
        return this;
    }
}
