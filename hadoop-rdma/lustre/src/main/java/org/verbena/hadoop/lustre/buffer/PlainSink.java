// SPDX-License-Identifier: Apache-2.0
package org.verbena.hadoop.lustre.buffer;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;

/** A file of the shared directory. */
public final class PlainSink implements Sink {
    private final FileChannel file;

    /** Takes over an open file, at the position of the first byte. */
    public PlainSink(FileChannel file) {
        this.file = file;
    }

    @Override
    public void write(ByteBuffer bytes) throws IOException {
        while (bytes.hasRemaining()) {
            file.write(bytes);
        }
    }

    @Override
    public void flush() {
        // the kernel has the bytes
    }

    @Override
    public void force() throws IOException {
        file.force(true);
    }

    @Override
    public boolean close() throws IOException {
        file.close();
        return true;
    }

    @Override
    public void abandon() throws IOException {
        file.close();
    }
}
