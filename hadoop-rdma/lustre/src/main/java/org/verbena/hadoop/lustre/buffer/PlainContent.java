// SPDX-License-Identifier: Apache-2.0
package org.verbena.hadoop.lustre.buffer;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;

/** A file of the shared directory. */
record PlainContent(FileChannel file) implements Content {
    @Override
    public int read(ByteBuffer target, long from) throws IOException {
        return file.read(target, from);
    }

    @Override
    public long size() throws IOException {
        return file.size();
    }

    @Override
    public boolean isOpen() {
        return file.isOpen();
    }

    @Override
    public void close() throws IOException {
        file.close();
    }
}
