// SPDX-License-Identifier: Apache-2.0
package org.apache.hadoop.hdfs.server.datanode;

import java.io.Closeable;
import java.io.DataInputStream;
import java.io.FileInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import org.apache.hadoop.hdfs.protocol.ExtendedBlock;
import org.apache.hadoop.hdfs.server.datanode.fsdataset.LengthInputStream;
import org.apache.hadoop.io.IOUtils;
import org.apache.hadoop.util.DataChecksum;

/** The two files of a finished replica, open. Many threads read them at once; a close fails their reads. */
final class OpenReplica implements Closeable {
    /** By which Hadoop knows that a replica's last chunk is not whole. */
    static final int CHUNK = 512;
    /** Larger chunks are Hadoop's to serve. */
    private static final int LARGEST_CHUNK = 4096;

    private final FinalizedReplica replica;
    private final FileInputStream data;
    private final FileInputStream meta;
    private final DataChecksum checksum;
    private volatile long lastUse = System.nanoTime();

    private OpenReplica(FinalizedReplica replica, FileInputStream data, FileInputStream meta, DataChecksum checksum) {
        this.replica = replica;
        this.data = data;
        this.meta = meta;
        this.checksum = checksum;
    }

    /**
     * Opens the files.
     *
     * @return null when one of them is no plain file, or its checksums are of an unusual kind
     */
    static OpenReplica open(DataNode dataNode, ExtendedBlock block, FinalizedReplica replica) throws IOException {
        InputStream data = null;
        InputStream meta = null;
        OpenReplica opened = null;
        try {
            if (replica.getVisibleLength() % CHUNK != 0 && replica.getLastPartialChunkChecksum() == null) {
                replica.loadLastPartialChunkChecksum();
            }
            data = dataNode.data.getBlockInputStream(block, 0);
            LengthInputStream found = dataNode.data.getMetaDataInputStream(block);
            meta = found == null ? null : found.getWrappedStream();
            if (data instanceof FileInputStream dataFile && meta instanceof FileInputStream metaFile) {
                DataChecksum checksum = BlockMetadataHeader.readDataChecksum(new DataInputStream(metaFile), block);
                if (isUsual(checksum)) {
                    opened = new OpenReplica(replica, dataFile, metaFile, checksum);
                }
            }
            return opened;
        } finally {
            if (opened == null) {
                IOUtils.closeStream(data);
                IOUtils.closeStream(meta);
            }
        }
    }

    private static boolean isUsual(DataChecksum checksum) {
        return switch (checksum.getChecksumType()) {
            case CRC32, CRC32C -> checksum.getBytesPerChecksum() > 0 && checksum.getBytesPerChecksum() <= LARGEST_CHUNK;
            default -> false;
        };
    }

    FinalizedReplica replica() {
        return replica;
    }

    DataChecksum checksum() {
        return checksum;
    }

    /** By the clock of {@link System#nanoTime}. */
    long lastUse() {
        return lastUse;
    }

    void use() {
        lastUse = System.nanoTime();
    }

    /** Adds the checksums of whole chunks from one on. */
    void readSums(ByteBuffer into, long firstChunk, int chunks) throws IOException {
        int size = checksum.getChecksumSize();
        read(meta.getChannel(), into, BlockMetadataHeader.getHeaderSize() + firstChunk * size, chunks * size);
    }

    /** Adds data. */
    void readData(ByteBuffer into, long position, int bytes) throws IOException {
        read(data.getChannel(), into, position, bytes);
    }

    private static void read(FileChannel file, ByteBuffer into, long position, int bytes) throws IOException {
        ByteBuffer part = into.slice(into.position(), bytes);
        while (part.hasRemaining()) {
            if (file.read(part, position + part.position()) < 0) {
                throw new IOException("the file ends before byte " + (position + bytes));
            }
        }
        into.position(into.position() + bytes);
    }

    @Override
    public void close() {
        IOUtils.closeStream(data);
        IOUtils.closeStream(meta);
    }
}
