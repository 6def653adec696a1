// SPDX-License-Identifier: Apache-2.0
// A map output's segment in memory outside the heap, as it lay in the map output: compressed, with its checksum.
package org.verbena.hadoop.shuffle;

import java.io.EOFException;
import java.io.IOException;
import java.io.InputStream;
import java.nio.ByteBuffer;
import java.nio.channels.Channels;
import java.nio.channels.ReadableByteChannel;
import java.util.zip.CRC32;
import org.apache.hadoop.mapred.Reporter;
import org.apache.hadoop.mapreduce.TaskAttemptID;
import org.apache.hadoop.mapreduce.task.reduce.MapHost;
import org.apache.hadoop.mapreduce.task.reduce.MapOutput;
import org.apache.hadoop.mapreduce.task.reduce.ShuffleClientMetrics;

/** Belongs to one fetcher until commit() or abort(). Its checksum is checked once, before commit(). */
final class KeptOutput<K, V> extends MapOutput<K, V> {
    /** Of the CRC-32 behind the records. */
    static final int CHECKSUM_BYTES = 4;

    private final MemoryMerge<K, V> merge;
    private long reserved;
    private ByteBuffer bytes;

    /** @param reserved bytes of the budget that are taken for it */
    KeptOutput(TaskAttemptID map, long rawLength, long reserved, MemoryMerge<K, V> merge) {
        super(map, rawLength, true);
        this.merge = merge;
        this.reserved = reserved;
    }

    /** @param segment all of it, direct */
    void bytes(ByteBuffer segment) {
        bytes = segment;
    }

    ByteBuffer bytes() {
        return bytes;
    }

    long reserved() {
        return reserved;
    }

    /** Compares the records with the checksum behind them. */
    void verify() throws IOException {
        int records = bytes.limit() - CHECKSUM_BYTES;
        if (records < 0) {
            throw new IOException("a segment of " + bytes.limit() + " bytes");
        }
        CRC32 sum = new CRC32();
        sum.update(bytes.slice(0, records));
        if ((int) sum.getValue() != bytes.getInt(records)) {
            throw new IOException("checksum error in the output of " + getMapId());
        }
    }

    /** The stock fetcher brings it by HTTP. */
    @Override
    public void shuffle(MapHost host, InputStream input, long compressedLength, long decompressedLength,
            ShuffleClientMetrics metrics, Reporter reporter) throws IOException {
        if (compressedLength > reserved) {
            throw new IOException("a segment of " + compressedLength + " bytes for " + reserved);
        }
        merge.giveBack(reserved - compressedLength);
        reserved = compressedLength;
        ByteBuffer room = merge.allocate((int) reserved);
        if (room == null) {
            reserved = 0;
            throw new IOException("no direct memory; the segment is fetched again");
        }
        ReadableByteChannel channel = Channels.newChannel(input);
        while (room.hasRemaining()) {
            if (channel.read(room) < 0) {
                throw new EOFException("the segment ends after " + room.position() + " of " + room.limit() + " bytes");
            }
            reporter.progress();
        }
        metrics.inputBytes(compressedLength);
        bytes = room.flip();
        verify();
    }

    @Override
    public void commit() {
        merge.committed(this);
    }

    @Override
    public void abort() {
        merge.giveBack(reserved);
        reserved = 0;
        bytes = null;
    }

    @Override
    public String getDescription() {
        return "MEMORY OUTSIDE THE HEAP";
    }
}
