// SPDX-License-Identifier: Apache-2.0
// A map output's segment in memory outside the heap: its records, decompressed.
package org.verbena.hadoop.shuffle;

import java.io.EOFException;
import java.io.IOException;
import java.io.InputStream;
import java.nio.ByteBuffer;
import java.nio.channels.Channels;
import java.nio.channels.ReadableByteChannel;
import java.util.zip.CRC32;
import org.apache.hadoop.io.compress.CodecPool;
import org.apache.hadoop.io.compress.CompressionCodec;
import org.apache.hadoop.io.compress.Decompressor;
import org.apache.hadoop.mapred.IFileInputStream;
import org.apache.hadoop.mapred.Reporter;
import org.apache.hadoop.mapreduce.TaskAttemptID;
import org.apache.hadoop.mapreduce.task.reduce.MapHost;
import org.apache.hadoop.mapreduce.task.reduce.MapOutput;
import org.apache.hadoop.mapreduce.task.reduce.ShuffleClientMetrics;

/**
 * Belongs to one fetcher until commit() or abort(). Its checksum is checked once, and it is decompressed once, before commit(): a
 * merge has all segments open at the same time, and a decompressor takes hundreds of KiB.
 */
final class KeptOutput<K, V> extends MapOutput<K, V> {
    /** Of the CRC-32 behind the records. */
    static final int CHECKSUM_BYTES = 4;

    private final MemoryMerge<K, V> merge;
    private final long part;
    private long reserved;
    private ByteBuffer room;
    private ByteBuffer records;

    /**
     * Makes one without bytes.
     *
     * @param part its length on the way, compressed, with its checksum
     * @param reserved bytes of the budget that are taken for it
     */
    KeptOutput(TaskAttemptID map, long rawLength, long part, long reserved, MemoryMerge<K, V> merge) {
        super(map, rawLength, true);
        this.merge = merge;
        this.part = part;
        this.reserved = reserved;
    }

    long part() {
        return part;
    }

    long reserved() {
        return reserved;
    }

    ByteBuffer records() {
        return records;
    }

    /** Where its records go when it comes as a stream: memory of the budget that is allocated already. */
    void room(ByteBuffer allocated) {
        room = allocated;
    }

    /**
     * Takes a segment that is not compressed, as it is.
     *
     * @param segment all of it, direct, with its checksum, which is checked
     */
    void take(ByteBuffer segment) throws IOException {
        records = verified(segment);
    }

    /**
     * Decompresses a segment.
     *
     * @param segment all of it, with its checksum, which is checked; not used afterwards
     * @param room for its records, direct, exactly as long as the map's index says that they are
     */
    void decompress(ByteBuffer segment, ByteBuffer room) throws IOException {
        decompress(new BufferInput(verified(segment)), room);
    }

    private ByteBuffer verified(ByteBuffer segment) throws IOException {
        int length = segment.limit() - CHECKSUM_BYTES;
        if (length < 0) {
            throw new IOException("a segment of " + segment.limit() + " bytes");
        }
        CRC32 sum = new CRC32();
        sum.update(segment.slice(0, length));
        if ((int) sum.getValue() != segment.getInt(length)) {
            throw new IOException("checksum error in the output of " + getMapId());
        }
        return segment.slice(0, length);
    }

    private void decompress(InputStream compressed, ByteBuffer room) throws IOException {
        CompressionCodec codec = merge.codec();
        Decompressor decompressor = CodecPool.getDecompressor(codec);
        try {
            InputStream in = decompressor == null ? codec.createInputStream(compressed)
                : codec.createInputStream(compressed, decompressor);
            fill(room, in);
            if (in.read() >= 0) {
                throw new IOException(getMapId() + " is longer than the " + room.limit() + " bytes that its index says");
            }
        } finally {
            CodecPool.returnDecompressor(decompressor);
        }
        records = room.flip();
    }

    private static void fill(ByteBuffer room, InputStream in) throws IOException {
        ReadableByteChannel channel = Channels.newChannel(in);
        while (room.hasRemaining()) {
            if (channel.read(room) < 0) {
                throw new EOFException("the segment ends after " + room.position() + " of " + room.limit() + " bytes");
            }
        }
    }

    /** As a stream: what the stock fetcher brings by HTTP, and what is too large to be decompressed from one buffer. */
    @Override
    public void shuffle(MapHost host, InputStream input, long compressedLength, long decompressedLength,
            ShuffleClientMetrics metrics, Reporter reporter) throws IOException {
        long held = merge.codec() == null ? compressedLength : decompressedLength;
        if (held > reserved) {
            throw new IOException("a segment of " + held + " bytes for " + reserved);
        }
        merge.giveBack(reserved - held);
        reserved = held;
        if (room == null) {
            room = merge.allocate((int) held);
        }
        if (room == null) {
            reserved = 0;
            throw new IOException("no direct memory; the segment is fetched again");
        }
        if (merge.codec() == null) {
            fill(room, input);
            take(room.flip());
        } else {
            decompress(new IFileInputStream(input, compressedLength, merge.conf()), room);
        }
        metrics.inputBytes(compressedLength);
        reporter.progress();
    }

    @Override
    public void commit() {
        merge.committed(this);
    }

    @Override
    public void abort() {
        if (room == null) {
            merge.giveBack(reserved);
        } else {
            merge.giveBack(reserved, room);
        }
        forget();
    }

    /** As abort(), but its memory is a part of a buffer: it stays counted with that. */
    void forget() {
        reserved = 0;
        room = null;
        records = null;
    }

    @Override
    public String getDescription() {
        return "MEMORY OUTSIDE THE HEAP";
    }

    /** Reads a buffer. */
    private static final class BufferInput extends InputStream {
        private final ByteBuffer bytes;

        BufferInput(ByteBuffer bytes) {
            this.bytes = bytes;
        }

        @Override
        public int read() {
            return bytes.hasRemaining() ? bytes.get() & 0xff : -1;
        }

        @Override
        public int read(byte[] array, int offset, int length) {
            if (!bytes.hasRemaining()) {
                return length == 0 ? 0 : -1;
            }
            int count = Math.min(length, bytes.remaining());
            bytes.get(array, offset, count);
            return count;
        }

        @Override
        public int available() {
            return bytes.remaining();
        }
    }
}
