// SPDX-License-Identifier: Apache-2.0
// A shuffle block of this executor's own slabs as Spark's ManagedBuffer.
package org.verbena.spark.store;

import io.netty.buffer.Unpooled;
import io.netty.handler.stream.ChunkedStream;
import java.io.IOException;
import java.io.InputStream;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;
import org.apache.spark.network.buffer.ManagedBuffer;

/**
 * Pins the map output only while a stream or a Netty buffer made from it is in use, because Spark calls retain() in some
 * paths and not in others. When the output was spilled in the meantime, Spark's file is read instead. Thread safe.
 */
public final class SlabManagedBuffer extends ManagedBuffer {
    /** The most bytes that one of Netty's buffers can have; larger blocks are handed over piece by piece. */
    private static final long MAX_NETTY_BUFFER = Integer.MAX_VALUE;
    private static final int SSL_CHUNK = 64 << 10;

    private final MapOutput output;
    private final int start;
    private final int end;
    private final long size;
    private final Files files;
    private final long maxNettyBuffer;
    private final List<Runnable> open = new ArrayList<>();
    private int references;

    /** Gives the block out of Spark's files. */
    @FunctionalInterface
    public interface Files {
        /** Opens the block in Spark's files; fails when it is not there either. */
        ManagedBuffer open() throws IOException;
    }

    /**
     * Makes a buffer of the partitions start (inclusive) to end (exclusive).
     *
     * @param files where the block is after a spill
     */
    public SlabManagedBuffer(MapOutput output, int start, int end, Files files) throws IOException {
        this(output, start, end, files, MAX_NETTY_BUFFER);
    }

    /** With a smaller limit than Netty's for one buffer. */
    SlabManagedBuffer(MapOutput output, int start, int end, Files files, long maxNettyBuffer) throws IOException {
        this.output = output;
        this.start = start;
        this.end = end;
        this.size = output.index().length(start, end);
        this.files = files;
        this.maxNettyBuffer = maxNettyBuffer;
    }

    @Override
    public long size() {
        return size;
    }

    @Override
    public InputStream createInputStream() throws IOException {
        if (!output.pin()) {
            return files.open().createInputStream();
        }
        Runnable unpin = once();
        try {
            return new ChunkStream(output.index().pieces(start, end), unpin);
        } catch (IOException | RuntimeException e) {
            unpin.run();
            throw e;
        }
    }

    @Override
    public ByteBuffer nioByteBuffer() throws IOException {
        if (!output.pin()) {
            return files.open().nioByteBuffer();
        }
        try {
            ByteBuffer copy = ByteBuffer.allocate(Math.toIntExact(size));
            for (ByteBuffer piece : output.index().pieces(start, end)) {
                copy.put(piece);
            }
            return copy.flip();
        } finally {
            output.unpin();
        }
    }

    /** A buffer over the pieces, or a region that writes them one after the other where no buffer is large enough. */
    @Override
    public Object convertToNetty() throws IOException {
        if (!output.pin()) {
            return files.open().convertToNetty();
        }
        Runnable unpin = once();
        try {
            ByteBuffer[] pieces = output.index().pieces(start, end);
            return size > maxNettyBuffer ? new SlabRegion(pieces, size)
                : Unpooled.wrappedBuffer(Math.max(1, pieces.length), pieces);
        } catch (IOException | RuntimeException e) {
            unpin.run();
            throw e;
        }
    }

    /** Spark 4.x; Netty's TLS handler takes the same buffers, and streams instead of regions. */
    public Object convertToNettyForSsl() throws IOException {
        if (size > maxNettyBuffer) {
            return new ChunkedStream(createInputStream(), SSL_CHUNK);
        }
        return output.state() == MapOutput.State.LIVE ? convertToNetty() : Unpooled.wrappedBuffer(nioByteBuffer());
    }

    @Override
    public synchronized ManagedBuffer retain() {
        references++;
        return this;
    }

    @Override
    public ManagedBuffer release() {
        List<Runnable> last = List.of();
        synchronized (this) {
            if (--references <= 0) {
                last = new ArrayList<>(open);
            }
        }
        last.forEach(Runnable::run);
        return this;
    }

    /** An unpin that works once, whoever comes first: the stream's close or the buffer's last release. */
    private Runnable once() {
        Runnable unpin = new Runnable() {
            @Override
            public void run() {
                boolean mine;
                synchronized (SlabManagedBuffer.this) {
                    mine = open.remove(this);
                }
                if (mine) {
                    output.unpin();
                }
            }
        };
        synchronized (this) {
            open.add(unpin);
        }
        return unpin;
    }
}
