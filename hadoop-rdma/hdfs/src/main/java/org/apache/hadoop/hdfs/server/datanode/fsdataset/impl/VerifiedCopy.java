// SPDX-License-Identifier: Apache-2.0
package org.apache.hadoop.hdfs.server.datanode.fsdataset.impl;

import java.io.BufferedInputStream;
import java.io.DataInputStream;
import java.io.File;
import java.io.IOException;
import java.io.InputStream;
import java.nio.ByteBuffer;
import java.nio.channels.Channels;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.StandardOpenOption;
import org.apache.hadoop.hdfs.server.datanode.BlockMetadataHeader;
import org.apache.hadoop.hdfs.server.datanode.ReplicaInfo;
import org.apache.hadoop.util.DataChecksum;

/**
 * Copies a finished replica's two files durably, and proves the copy by the block's checksums. The file of checksums gets its
 * name last: if it has its name, the copy is whole.
 */
final class VerifiedCopy {
    private static final String PART = ".part";
    private static final int PIECE = 256 << 10;
    private static final int MOST_CHUNK = 64 << 20;

    /** The replica that was to be copied is damaged itself. */
    static final class DamagedException extends IOException {
        private static final long serialVersionUID = 1;

        DamagedException(ReplicaInfo replica, IOException cause) {
            super("the replica " + replica.getBlockURI() + " is damaged: " + cause.getMessage(), cause);
        }
    }

    private VerifiedCopy() {
    }

    /**
     * Makes the copy; a file of that name is replaced.
     *
     * @param from a finished replica
     * @param data where its bytes go
     * @param meta where its checksums go
     * @throws DamagedException when the replica does not match its own checksums
     * @throws IOException when the copy cannot be made, or does not match; no file is left
     */
    static void make(ReplicaInfo from, Path data, Path meta) throws IOException {
        Path dataPart = Path.of(data + PART);
        Path metaPart = Path.of(meta + PART);
        try {
            Files.createDirectories(data.getParent());
            write(from.getDataInputStream(0), dataPart);
            write(from.getMetadataInputStream(0), metaPart);
            verify(from, dataPart, metaPart);
            Files.move(dataPart, data, StandardCopyOption.ATOMIC_MOVE);
            Files.move(metaPart, meta, StandardCopyOption.ATOMIC_MOVE);
            sync(data.getParent());
        } catch (IOException e) {
            for (Path file : new Path[] {meta, data, metaPart, dataPart}) {
                Files.deleteIfExists(file);
            }
            throw e;
        }
    }

    private static void write(InputStream from, Path to) throws IOException {
        try (from; FileChannel out = FileChannel.open(to, StandardOpenOption.CREATE, StandardOpenOption.TRUNCATE_EXISTING,
                StandardOpenOption.WRITE)) {
            from.transferTo(Channels.newOutputStream(out));
            out.force(true);
        }
    }

    private static void sync(Path folder) throws IOException {
        try (FileChannel open = FileChannel.open(folder, StandardOpenOption.READ)) {
            open.force(true);
        }
    }

    /**
     * Checks a copy, and if the copy is wrong, the replica that it is of.
     *
     * @throws DamagedException when the replica does not match its own checksums
     * @throws IOException when the copy does not match them
     */
    static void verify(ReplicaInfo of, Path data, Path meta) throws IOException {
        try {
            check(data, meta, of.getNumBytes());
            if (Files.mismatch(meta, new File(of.getMetadataURI()).toPath()) >= 0) {
                throw new IOException(meta + " differs from " + of.getMetadataURI());
            }
            if (type(meta).getChecksumSize() == 0 && Files.mismatch(data, new File(of.getBlockURI()).toPath()) >= 0) {
                throw new IOException(data + " differs from " + of.getBlockURI());
            }
        } catch (IOException e) {
            try {
                check(new File(of.getBlockURI()).toPath(), new File(of.getMetadataURI()).toPath(), of.getNumBytes());
            } catch (IOException damage) {
                throw Files.exists(new File(of.getBlockURI()).toPath()) ? new DamagedException(of, damage) : e;
            }
            throw new IOException("the copy " + data + " is wrong: " + e.getMessage(), e);
        }
    }

    private static DataChecksum type(Path meta) throws IOException {
        try (DataInputStream in = new DataInputStream(new BufferedInputStream(Files.newInputStream(meta)))) {
            return BlockMetadataHeader.readHeader(in).getChecksum();
        }
    }

    /** Compares a file's length and bytes with its checksums. */
    static void check(Path data, Path meta, long length) throws IOException {
        try (FileChannel in = FileChannel.open(data);
                DataInputStream sums = new DataInputStream(new BufferedInputStream(Files.newInputStream(meta)))) {
            if (in.size() != length) {
                throw new IOException(data + " has " + in.size() + " bytes in place of " + length);
            }
            DataChecksum checksum = BlockMetadataHeader.readHeader(sums).getChecksum();
            int chunk = checksum.getBytesPerChecksum();
            if (chunk > MOST_CHUNK) {
                throw new IOException(meta + " says that a checksum is of " + chunk + " bytes, more than " + MOST_CHUNK);
            }
            int chunks = Math.max(1, PIECE / chunk);
            ByteBuffer bytes = ByteBuffer.allocate(chunks * chunk);
            byte[] expected = new byte[chunks * checksum.getChecksumSize()];
            for (long at = 0; at < length; at += bytes.limit()) {
                bytes.clear().limit((int) Math.min(bytes.capacity(), length - at));
                while (bytes.hasRemaining() && in.read(bytes) >= 0) {
                    // until the piece is full
                }
                bytes.flip();
                if (bytes.limit() == 0) {
                    throw new IOException(data + " ends at " + at + " in place of " + length);
                }
                int used = (bytes.limit() + chunk - 1) / chunk * checksum.getChecksumSize();
                sums.readFully(expected, 0, used);
                checksum.verifyChunkedSums(bytes, ByteBuffer.wrap(expected, 0, used), data.toString(), at);
            }
        }
    }
}
