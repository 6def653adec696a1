// SPDX-License-Identifier: Apache-2.0
// Spark's own map writers on an executor without slabs, where the application's shuffle does not compress.
package org.verbena.spark.store;

import java.io.File;
import java.io.IOException;
import java.io.OutputStream;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.StandardOpenOption;
import java.util.zip.Checksum;
import org.apache.spark.shuffle.api.ShuffleMapOutputWriter;
import org.apache.spark.shuffle.api.ShufflePartitionWriter;
import org.apache.spark.shuffle.api.metadata.MapOutputCommitMessage;

/**
 * The driver has turned compression off for map outputs in memory. One that becomes a file at once is compressed on its way
 * there, partition by partition ({@link PackedFile}), as Spark would have done. Belongs to the task's thread. Must be ended by
 * {@link #commitAllPartitions} or {@link #abort}.
 */
public final class PackedMapWriter implements ShuffleMapOutputWriter {
    private final ShuffleFiles files;
    private final int shuffleId;
    private final long mapId;
    private final long[] lengths;
    private final long[] inFile;
    private final long[] sums;
    private final Checksum checksum;
    private File data;
    private FileChannel channel;
    private FileSink sink;
    private int begun = -1;
    private long start;
    private boolean ended;

    /** Opens nothing before the first byte. The files must have a {@link ShuffleFiles#packing}. */
    public PackedMapWriter(ShuffleFiles files, int shuffleId, long mapId, int partitions) {
        this.files = files;
        this.shuffleId = shuffleId;
        this.mapId = mapId;
        this.lengths = new long[partitions];
        this.inFile = new long[partitions];
        this.checksum = files.checksum();
        this.sums = new long[checksum == null ? 0 : partitions];
    }

    private final class Partition extends OutputStream implements ShufflePartitionWriter {
        private final int number;

        Partition(int number) {
            this.number = number;
        }

        @Override
        public OutputStream openStream() {
            return this;
        }

        @Override
        public void write(int one) throws IOException {
            write(new byte[] {(byte) one}, 0, 1);
        }

        @Override
        public void write(byte[] from, int offset, int count) throws IOException {
            if (number != begun || ended) {
                throw new IOException("partition " + number + " of a map output is written after its end");
            }
            lengths[number] += sink.write(ByteBuffer.wrap(from, offset, count));
            if (checksum != null) {
                checksum.update(from, offset, count);
            }
        }

        @Override
        public long getNumBytesWritten() {
            return lengths[number];
        }
    }

    @Override
    public ShufflePartitionWriter getPartitionWriter(int partition) throws IOException {
        if (partition <= begun) {
            throw new IllegalArgumentException("partition " + partition + " of a map output comes after " + begun);
        }
        open();
        begin(partition);
        return new Partition(partition);
    }

    private void open() throws IOException {
        if (channel == null) {
            data = files.temporary(shuffleId, mapId);
            channel = FileChannel.open(data.toPath(), StandardOpenOption.CREATE_NEW, StandardOpenOption.WRITE);
            sink = new FileSink(channel, files.packing());
        }
    }

    /** Ends the partition before. */
    private void begin(int next) throws IOException {
        sink.end();
        if (begun >= 0) {
            inFile[begun] = channel.position() - start;
        }
        for (int p = Math.max(begun, 0); p < next && sums.length > 0; p++) {
            sums[p] = checksum.getValue(); // of nothing, but for the first
            checksum.reset();
        }
        begun = next;
        start = channel.position();
    }

    @Override
    public MapOutputCommitMessage commitAllPartitions(long[] checksums) throws IOException {
        try {
            open();
            begin(lengths.length);
            PackedFile.end(channel, lengths);
            channel.close();
            files.commit(shuffleId, mapId, inFile, sums, data);
            data = null;
            return MapOutputCommitMessage.of(lengths);
        } finally {
            close();
        }
    }

    @Override
    public void abort(Throwable error) throws IOException {
        close();
    }

    /** Gives descriptor, codec and file back, unless the file is committed. Idempotent. */
    public void close() throws IOException {
        if (ended) {
            return;
        }
        ended = true;
        FileChannel file = channel;
        FileSink last = sink;
        try (file; last) {
            if (data != null) {
                Files.deleteIfExists(data.toPath());
            }
        }
    }
}
