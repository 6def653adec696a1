// SPDX-License-Identifier: Apache-2.0
// Partitions on their way to a file.
package org.verbena.spark.store;

import java.io.EOFException;
import java.io.IOException;
import java.io.OutputStream;
import java.nio.ByteBuffer;
import java.nio.channels.Channels;
import java.nio.channels.FileChannel;

/** Writes one partition after the other, each compressed by itself or as it is. The file stays open. Belongs to one thread. */
final class FileSink implements AutoCloseable {
    private static final int STEP = 32 << 10;

    private final FileChannel file;
    private final Packing packing;
    private final byte[] step;
    private OutputStream packed;

    /**
     * Begins where the file's position is.
     *
     * @param packing null: bytes as they are
     */
    FileSink(FileChannel file, Packing packing) {
        this.file = file;
        this.packing = packing;
        this.step = new byte[packing == null ? 0 : STEP];
    }

    Packing packing() {
        return packing;
    }

    /** Writes a buffer to its end; returns how many bytes that were, without compression. Nothing is written for nothing. */
    long write(ByteBuffer from) throws IOException {
        if (packing == null || !from.hasRemaining()) {
            return drain(from, file);
        }
        long bytes = from.remaining();
        if (packed == null) {
            packed = packing.packed(Channels.newOutputStream(file));
        }
        while (from.hasRemaining()) {
            int some = Math.min(step.length, from.remaining());
            from.get(step, 0, some);
            packed.write(step, 0, some);
        }
        return bytes;
    }

    /** Copies what a sink of the same packing has written, between two calls of {@link #end} there. */
    void copy(FileChannel from, long offset, long length) throws IOException {
        end();
        long end = offset + length;
        for (long at = offset; at < end;) {
            long some = from.transferTo(at, end - at, file);
            if (some == 0) {
                throw new EOFException("a temporary file of a map output ends at " + at + " before " + end);
            }
            at += some;
        }
    }

    /** Ends a partition, or a part that {@link #copy} shall find; what follows is a stream of the codec for itself. */
    void end() throws IOException {
        OutputStream ended = packed;
        packed = null;
        if (ended != null) {
            ended.close();
        }
    }

    /** The same: some codecs hold native memory. */
    @Override
    public void close() throws IOException {
        end();
    }

    /** Writes a buffer to its end; returns how many bytes that were. */
    static long drain(ByteBuffer bytes, FileChannel to) throws IOException {
        long length = bytes.remaining();
        while (bytes.hasRemaining()) {
            to.write(bytes);
        }
        return length;
    }
}
