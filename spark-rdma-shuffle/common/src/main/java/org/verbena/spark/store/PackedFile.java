// SPDX-License-Identifier: Apache-2.0
// The layout of a data file of Spark's whose partitions are compressed, although the application's shuffle is not.
package org.verbena.spark.store;

import java.io.EOFException;
import java.io.File;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.NoSuchFileException;
import java.nio.file.StandardOpenOption;
import org.apache.spark.network.buffer.ManagedBuffer;

/**
 * Spark's index file says where the partitions lie in the data file, as always; behind them follow, in network order:
 *
 * <pre>
 * long offset[P + 1]   where each partition would begin, and the last one end, if they were not compressed
 * long MAGIC
 * </pre>
 *
 * A file without compression ends where its last partition ends, so the two cannot be confused. Spark moves such a pair of
 * files between executors as it is, and removes it as any other.
 */
public final class PackedFile {
    private static final long MAGIC = 0x76626e7061636b31L; // "vbnpack1"

    private PackedFile() {
    }

    /** Ends a data file whose partitions were written before. */
    static void end(FileChannel data, long[] lengths) throws IOException {
        ByteBuffer end = ByteBuffer.allocate(Math.multiplyExact(Long.BYTES, lengths.length + 2));
        long at = 0;
        for (long length : lengths) {
            end.putLong(at);
            at += length;
        }
        FileSink.drain(end.putLong(at).putLong(MAGIC).flip(), data);
    }

    /**
     * Finds partitions start (inclusive) to end (exclusive) in a pair of files.
     *
     * @return the bytes as they were before compression; null when the files are not there, or Spark's own
     * @throws IOException when the files contradict each other
     */
    public static ManagedBuffer find(Packing packing, File index, File data, int start, int end) throws IOException {
        try (FileChannel offsets = FileChannel.open(index.toPath(), StandardOpenOption.READ);
                FileChannel packed = FileChannel.open(data.toPath(), StandardOpenOption.READ)) {
            long partitions = offsets.size() / Long.BYTES - 1;
            long ends = partitions < 0 ? 0 : longs(offsets, partitions, 1)[0];
            long footer = Long.BYTES * (partitions + 2);
            if (partitions < 0 || packed.size() != ends + footer || longs(packed, ends, partitions + 1, 1)[0] != MAGIC) {
                return null;
            }
            if (start < 0 || end < start || end > partitions) {
                throw new IOException("partitions " + start + " to " + end + " of " + partitions + " in " + data);
            }
            long[] places = rising(longs(offsets, start, end - start + 1), data);
            long[] plain = rising(longs(packed, ends, start, end - start + 1), data);
            if (places[end - start] > ends) {
                throw new IOException(data + " ends before partition " + end);
            }
            return new PackedBlock(packing, data, places, plain[end - start] - plain[0]);
        } catch (NoSuchFileException e) {
            return null;
        }
    }

    private static long[] rising(long[] offsets, File data) throws IOException {
        for (int i = 0; i < offsets.length; i++) {
            if (offsets[i] < (i == 0 ? 0 : offsets[i - 1])) {
                throw new IOException("the offsets of the partitions in " + data + " are damaged");
            }
        }
        return offsets;
    }

    private static long[] longs(FileChannel from, long first, int count) throws IOException {
        return longs(from, 0, first, count);
    }

    /** Numbers first to first + count of those that begin at a place in a file. */
    private static long[] longs(FileChannel from, long place, long first, int count) throws IOException {
        ByteBuffer bytes = ByteBuffer.allocate(Math.multiplyExact(Long.BYTES, count));
        long at = place + Long.BYTES * first;
        while (bytes.hasRemaining()) {
            int some = from.read(bytes, at + bytes.position());
            if (some < 0) {
                throw new EOFException("a file of a map output ends too early");
            }
        }
        long[] longs = new long[count];
        bytes.flip().asLongBuffer().get(longs);
        return longs;
    }
}
