// SPDX-License-Identifier: Apache-2.0
// A shuffle block in another executor's slabs, read from this process.
package org.verbena.spark.store;

import io.netty.buffer.Unpooled;
import java.io.EOFException;
import java.io.IOException;
import java.io.InputStream;
import java.nio.ByteBuffer;
import org.apache.spark.network.buffer.ManagedBuffer;

/**
 * The owner may reuse the memory at any time: bytes are copied out in batches and believed only if the index is live
 * afterwards. When it is not, the rest is read from Spark's files, where the owner put the same bytes before.
 */
public final class HostLocalBuffer extends ManagedBuffer {
    private static final int BATCH = 32 << 10;

    private final MapIndex index;
    private final int start;
    private final int end;
    private final long size;
    private final SlabManagedBuffer.Files files;

    /**
     * Makes a buffer of the partitions start (inclusive) to end (exclusive).
     *
     * @param files where the block is after a spill
     */
    public HostLocalBuffer(MapIndex index, int start, int end, SlabManagedBuffer.Files files) throws IOException {
        this.index = index;
        this.start = start;
        this.end = end;
        this.files = files;
        this.size = index.length(start, end);
        if (!index.isLive()) {
            throw new IOException("the map output went away");
        }
    }

    /** Copies batches; changes to the file in the middle of a block when it must. */
    private final class Stream extends InputStream {
        private final ByteBuffer[] pieces;
        private final byte[] batch = new byte[(int) Math.min(BATCH, Math.max(1, size))];
        private int next;
        private int at;
        private int filled;
        private long before;
        private InputStream file;

        Stream(ByteBuffer[] pieces) {
            this.pieces = pieces;
        }

        private boolean fill() throws IOException {
            if (file != null) {
                filled = Math.max(0, file.read(batch));
                at = 0;
                return filled > 0;
            }
            before += filled;
            filled = 0;
            at = 0;
            while (filled < batch.length && next < pieces.length) {
                int n = Math.min(batch.length - filled, pieces[next].remaining());
                pieces[next].get(batch, filled, n);
                filled += n;
                next += pieces[next].hasRemaining() ? 0 : 1;
            }
            if (filled > 0 && !index.isLive()) {
                openFile();
                return fill();
            }
            return filled > 0;
        }

        private void openFile() throws IOException {
            file = files.open().createInputStream();
            long left = before;
            while (left > 0) {
                long n = file.skip(left);
                if (n <= 0) {
                    throw new EOFException("the spilled map output is shorter than it was in memory");
                }
                left -= n;
            }
        }

        @Override
        public int read() throws IOException {
            return at < filled || fill() ? batch[at++] & 0xff : -1;
        }

        @Override
        public int read(byte[] to, int offset, int count) throws IOException {
            if (count == 0) {
                return 0;
            }
            int done = 0;
            while (done < count && (at < filled || fill())) {
                int n = Math.min(count - done, filled - at);
                System.arraycopy(batch, at, to, offset + done, n);
                at += n;
                done += n;
            }
            return done == 0 ? -1 : done;
        }

        @Override
        public int available() {
            return filled - at;
        }

        @Override
        public void close() throws IOException {
            if (file != null) {
                file.close();
            }
        }
    }

    @Override
    public long size() {
        return size;
    }

    @Override
    public InputStream createInputStream() throws IOException {
        try {
            ByteBuffer[] pieces = index.pieces(start, end);
            if (index.isLive()) {
                return new Stream(pieces);
            }
        } catch (IOException | java.io.UncheckedIOException e) {
            if (index.isLive()) {
                throw e instanceof IOException ? (IOException) e : new IOException(e);
            }
        }
        return files.open().createInputStream();
    }

    @Override
    public ByteBuffer nioByteBuffer() throws IOException {
        try (InputStream in = createInputStream()) {
            return ByteBuffer.wrap(in.readNBytes(Math.toIntExact(size)));
        }
    }

    @Override
    public Object convertToNetty() throws IOException {
        return Unpooled.wrappedBuffer(nioByteBuffer());
    }

    /** Spark 4.x. */
    public Object convertToNettyForSsl() throws IOException {
        return convertToNetty();
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
