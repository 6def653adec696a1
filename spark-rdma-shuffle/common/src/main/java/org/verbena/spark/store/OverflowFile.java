// SPDX-License-Identifier: Apache-2.0
// What a map output held in memory when the budget was exhausted.
package org.verbena.spark.store;

import java.io.File;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.channels.WritableByteChannel;
import java.nio.file.Files;
import java.nio.file.StandardOpenOption;

/** A temporary file, which {@link #close} removes. Belongs to the task's thread. */
final class OverflowFile implements AutoCloseable {
    private final File file;
    private final FileChannel channel;

    OverflowFile(File file) throws IOException {
        this.file = file;
        channel = FileChannel.open(file.toPath(), StandardOpenOption.CREATE_NEW, StandardOpenOption.READ,
            StandardOpenOption.WRITE);
    }

    /** Adds bytes; returns where they begin. */
    long add(ByteBuffer bytes) throws IOException {
        long at = channel.position();
        SpillToFiles.drain(bytes, channel);
        return at;
    }

    void copy(long offset, long length, WritableByteChannel to) throws IOException {
        long end = offset + length;
        for (long at = offset; at < end;) {
            at += channel.transferTo(at, end - at, to);
        }
    }

    @Override
    public void close() {
        try {
            channel.close();
            Files.deleteIfExists(file.toPath());
        } catch (IOException e) {
            file.deleteOnExit();
        }
    }
}
