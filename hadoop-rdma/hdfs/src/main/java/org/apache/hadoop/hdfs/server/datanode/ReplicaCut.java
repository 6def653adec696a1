// SPDX-License-Identifier: Apache-2.0
package org.apache.hadoop.hdfs.server.datanode;

import java.io.ByteArrayOutputStream;
import java.io.DataOutputStream;
import java.io.EOFException;
import java.io.IOException;
import java.net.URI;
import java.nio.ByteBuffer;
import java.nio.channels.ClosedByInterruptException;
import java.nio.channels.FileChannel;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import org.apache.hadoop.fs.FSOutputSummer;
import org.apache.hadoop.util.DataChecksum;

/**
 * Cuts the files of a replica back to the bytes that count, the data first. The NameNode may have the replica deleted at any
 * moment, and Hadoop's {@code truncateBlock} would make its files again: here no file is made.
 */
final class ReplicaCut {
    /** What is done to an open file; it may begin anew. */
    private interface Change {
        void make(FileChannel file) throws IOException;
    }

    private ReplicaCut() {
    }

    /**
     * Cuts both files.
     *
     * @param kind of the replica's checksums
     * @param length bytes of data that are left
     * @throws NoSuchFileException when a file is deleted
     */
    static void cut(ReplicaInfo replica, DataChecksum kind, long length) throws IOException {
        int chunk = kind.getBytesPerChecksum();
        ByteBuffer last = ByteBuffer.allocate(length == 0 ? 0 : (int) ((length - 1) % chunk) + 1);
        long begin = length - last.capacity();
        change(replica.getBlockURI(), data -> {
            data.truncate(length);
            read(data, last.clear(), begin);
        });
        ByteBuffer end = ByteBuffer.wrap(length == 0 ? header(kind) : sum(kind, last.array()));
        long at = length == 0 ? 0 : BlockMetadataHeader.getHeaderSize() + begin / chunk * kind.getChecksumSize();
        change(replica.getMetadataURI(), sums -> {
            if (sums.size() < at) {
                throw new EOFException("the checksums of " + replica + " end at " + sums.size());
            }
            write(sums, end.clear(), at);
            sums.truncate(at + end.capacity());
        });
    }

    /** Does it also if this thread is interrupted meanwhile, which closes the channel: the writer that ends has ended. */
    private static void change(URI file, Change change) throws IOException {
        while (true) {
            try (FileChannel open = FileChannel.open(Path.of(file), StandardOpenOption.READ, StandardOpenOption.WRITE)) {
                change.make(open);
                return;
            } catch (ClosedByInterruptException e) {
                Thread.interrupted(); // it has had its effect
            }
        }
    }

    private static void read(FileChannel file, ByteBuffer into, long from) throws IOException {
        while (into.hasRemaining()) {
            if (file.read(into, from + into.position()) < 0) {
                throw new EOFException("the data of a replica ends before " + (from + into.limit()));
            }
        }
    }

    private static void write(FileChannel file, ByteBuffer bytes, long to) throws IOException {
        while (bytes.hasRemaining()) {
            file.write(bytes, to + bytes.position());
        }
    }

    /** All that is left of the checksums of no data; it may have waited in the stream as well. */
    private static byte[] header(DataChecksum kind) throws IOException {
        ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        BlockMetadataHeader.writeHeader(new DataOutputStream(bytes), kind);
        return bytes.toByteArray();
    }

    /** The one in the file may be of more bytes. */
    private static byte[] sum(DataChecksum kind, byte[] chunk) {
        DataChecksum sum = DataChecksum.newDataChecksum(kind.getChecksumType(), kind.getBytesPerChecksum());
        sum.update(chunk, 0, chunk.length);
        return FSOutputSummer.convertToByteStream(sum, kind.getChecksumSize());
    }
}
