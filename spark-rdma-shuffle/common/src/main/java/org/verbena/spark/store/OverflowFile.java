// SPDX-License-Identifier: Apache-2.0
// What a map output held in memory when the budget was exhausted.
package org.verbena.spark.store;

import java.io.File;
import java.io.IOException;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.StandardOpenOption;
import java.util.List;

/**
 * A temporary file, which {@link #close} removes. Its bytes are compressed as those of the output's own file will be, and
 * are copied there as they are. Belongs to the task's thread.
 */
final class OverflowFile implements AutoCloseable {
    private final File file;
    private final FileChannel channel;
    private final FileSink sink;
    private long bytes;

    /**
     * What {@link #add} has written in one call.
     *
     * @param offset in the file
     * @param length in the file
     * @param bytes without compression
     */
    record Run(long offset, long length, long bytes) {
    }

    /**
     * Makes the file.
     *
     * @param packing null: bytes as they are
     */
    OverflowFile(File file, Packing packing) throws IOException {
        this.file = file;
        channel = FileChannel.open(file.toPath(), StandardOpenOption.CREATE_NEW, StandardOpenOption.READ,
            StandardOpenOption.WRITE);
        sink = new FileSink(channel, packing);
    }

    Packing packing() {
        return sink.packing();
    }

    /** Bytes in the file. */
    long bytes() {
        return bytes;
    }

    /** Adds pieces of one partition. */
    Run add(List<Piece> pieces) throws IOException {
        long offset = channel.position();
        long plain = 0;
        for (Piece piece : pieces) {
            plain += sink.write(piece.bytes().duplicate());
        }
        sink.end();
        bytes = channel.position();
        return new Run(offset, bytes - offset, plain);
    }

    /** Copies a run into a file with the same packing; returns how many bytes that were, without compression. */
    long copy(Run run, FileSink to) throws IOException {
        to.copy(channel, run.offset(), run.length());
        return run.bytes();
    }

    @Override
    public void close() {
        try (channel; sink) {
            Files.deleteIfExists(file.toPath());
        } catch (IOException e) { // of a codec that had not ended: the file is gone; or of the directory
            file.deleteOnExit();
        }
    }
}
