// SPDX-License-Identifier: Apache-2.0
// A shuffle block in another executor's slabs, read from this process.
package org.verbena.spark.store;

import java.io.EOFException;
import java.io.IOException;
import java.io.InputStream;
import java.nio.ByteBuffer;

/**
 * The owner may reuse the memory at any time: bytes are copied out in batches and believed only if the index is live
 * afterwards. When it is not, the rest is read from Spark's files, where the owner put the same bytes before.
 */
public final class HostLocalBuffer extends StreamedBuffer {
    private static final int BATCH = 32 << 10;
    /** A read of so many bytes is copied directly. */
    private static final int LARGE = 512;

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

    /** Copies large reads directly and small ones by batches; changes to the file in the middle when it must. */
    private final class Stream extends InputStream {
        private final ByteBuffer[] pieces;
        private byte[] batch;
        private int next;
        private int at;
        private int filled;
        /** Bytes of the block that were copied out and believed. */
        private long copied;
        private InputStream file;

        Stream(ByteBuffer[] pieces) {
            this.pieces = pieces;
        }

        /** Copies up to count bytes; 0 at the end. */
        private int copy(byte[] to, int offset, int count) throws IOException {
            if (file != null) {
                return Math.max(0, file.read(to, offset, count));
            }
            int done = 0;
            while (done < count && next < pieces.length) {
                int n = Math.min(count - done, pieces[next].remaining());
                pieces[next].get(to, offset + done, n);
                done += n;
                next += pieces[next].hasRemaining() ? 0 : 1;
            }
            if (done > 0 && !index.isLive()) {
                openFile();
                return copy(to, offset, count);
            }
            copied += done;
            return done;
        }

        private boolean fill() throws IOException {
            if (batch == null) {
                batch = new byte[(int) Math.min(BATCH, Math.max(1, size))];
            }
            at = 0;
            filled = copy(batch, 0, batch.length);
            return filled > 0;
        }

        private void openFile() throws IOException {
            file = files.open().createInputStream();
            long left = copied;
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
            if (at == filled && count >= LARGE) {
                int n = copy(to, offset, count);
                return n == 0 ? -1 : n;
            }
            if (at == filled && !fill()) {
                return -1;
            }
            int n = Math.min(count, filled - at);
            System.arraycopy(batch, at, to, offset, n);
            at += n;
            return n;
        }

        @Override
        public int available() {
            return (int) Math.min(Integer.MAX_VALUE, filled - at + (file == null ? size - copied : 0));
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

}
