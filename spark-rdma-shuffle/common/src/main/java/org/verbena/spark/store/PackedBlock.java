// SPDX-License-Identifier: Apache-2.0
// A shuffle block that is compressed in its file, and nowhere else.
package org.verbena.spark.store;

import io.netty.handler.stream.ChunkedStream;
import java.io.EOFException;
import java.io.File;
import java.io.FileInputStream;
import java.io.IOException;
import java.io.InputStream;
import org.apache.spark.network.util.LimitedInputStream;

/** Its bytes are those that the map task wrote; the file is opened by who reads. Thread safe. */
final class PackedBlock extends StreamedBuffer {
    /** Larger blocks go to Spark's transport step by step. */
    private static final int LARGE = 1 << 20;
    private static final int SSL_CHUNK = 64 << 10;

    private final Packing packing;
    private final File data;
    private final long[] places;
    private final long size;

    /**
     * Makes a block of consecutive partitions.
     *
     * @param places where each begins in the file, and where the last one ends
     * @param size bytes without compression
     */
    PackedBlock(Packing packing, File data, long[] places, long size) {
        this.packing = packing;
        this.data = data;
        this.places = places;
        this.size = size;
    }

    /** The partitions one after the other, each a stream of the codec. */
    private final class Stream extends InputStream {
        private final FileInputStream file;
        private InputStream partition = InputStream.nullInputStream();
        private int next;
        private long left = size;

        Stream(FileInputStream file) {
            this.file = file;
        }

        @Override
        public int read() throws IOException {
            byte[] one = new byte[1];
            return read(one, 0, 1) < 0 ? -1 : one[0] & 0xff;
        }

        @Override
        public int read(byte[] to, int offset, int count) throws IOException {
            if (count == 0 || left == 0) {
                return count == 0 ? 0 : -1;
            }
            int some = partition.read(to, offset, (int) Math.min(count, left));
            while (some < 0) {
                open();
                some = partition.read(to, offset, (int) Math.min(count, left));
            }
            left -= some;
            return some;
        }

        private void open() throws IOException {
            while (next < places.length - 1 && places[next] == places[next + 1]) {
                next++;
            }
            if (next == places.length - 1) {
                throw new EOFException(left + " of " + size + " bytes of a block are missing in " + data);
            }
            partition.close();
            file.getChannel().position(places[next]);
            partition = packing.unpacked(new LimitedInputStream(file, places[next + 1] - places[next], false));
            next++;
        }

        @Override
        public int available() {
            return (int) Math.min(Integer.MAX_VALUE, left);
        }

        @Override
        public void close() throws IOException {
            try (file) {
                partition.close(); // some codecs hold native memory
            }
        }
    }

    @Override
    public long size() {
        return size;
    }

    @Override
    public InputStream createInputStream() throws IOException {
        return new Stream(new FileInputStream(data));
    }

    @Override
    public Object convertToNetty() throws IOException {
        return size > LARGE ? new StreamRegion(this) : super.convertToNetty();
    }

    /** Netty's TLS handler takes streams instead of regions. */
    @Override
    public Object convertToNettyForSsl() throws IOException {
        return size > LARGE ? new ChunkedStream(createInputStream(), SSL_CHUNK) : super.convertToNettyForSsl();
    }
}
