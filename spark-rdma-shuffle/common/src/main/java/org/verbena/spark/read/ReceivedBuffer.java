// SPDX-License-Identifier: Apache-2.0
// A fetched block: a slice of a receive buffer that many blocks share.
package org.verbena.spark.read;

import io.netty.buffer.Unpooled;
import java.io.InputStream;
import java.nio.ByteBuffer;
import java.util.concurrent.atomic.AtomicInteger;
import org.apache.spark.network.buffer.ManagedBuffer;
import org.verbena.core.plugin.BoundedPool;
import org.verbena.spark.store.ChunkStream;

/** Counts references as Netty's buffers do: starts with one; the last release of the last slice frees the memory. */
final class ReceivedBuffer extends ManagedBuffer {
    /** The receive buffer; one share per slice and one of the receiver. */
    static final class Owner {
        private final AtomicInteger shares = new AtomicInteger(1);
        private final ByteBuffer buffer;
        private final BoundedPool pool;

        Owner(ByteBuffer buffer, BoundedPool pool) {
            this.buffer = buffer;
            this.pool = pool;
        }

        ReceivedBuffer slice(int offset, int length) {
            shares.incrementAndGet();
            return new ReceivedBuffer(this, buffer.slice(offset, length));
        }

        void release() {
            if (shares.decrementAndGet() == 0 && buffer.isDirect()) { // small messages may be on the heap
                pool.give(buffer);
            }
        }
    }

    private final Owner owner;
    private final ByteBuffer bytes;
    private final AtomicInteger references = new AtomicInteger(1);

    private ReceivedBuffer(Owner owner, ByteBuffer bytes) {
        this.owner = owner;
        this.bytes = bytes;
    }

    @Override
    public long size() {
        return bytes.capacity();
    }

    @Override
    public ByteBuffer nioByteBuffer() {
        return bytes.duplicate();
    }

    @Override
    public InputStream createInputStream() {
        return new ChunkStream(new ByteBuffer[] {bytes.duplicate()}, () -> { });
    }

    @Override
    public ManagedBuffer retain() {
        references.incrementAndGet();
        return this;
    }

    @Override
    public ManagedBuffer release() {
        int left = references.decrementAndGet();
        if (left == 0) {
            owner.release();
        } else if (left < 0) {
            throw new IllegalStateException("a fetched block was released too often");
        }
        return this;
    }

    @Override
    public Object convertToNetty() {
        return Unpooled.wrappedBuffer(bytes.duplicate());
    }

    /** Spark 4.x. */
    public Object convertToNettyForSsl() {
        return convertToNetty();
    }
}
