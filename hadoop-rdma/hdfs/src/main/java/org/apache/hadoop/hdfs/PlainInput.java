// SPDX-License-Identifier: Apache-2.0
package org.apache.hadoop.hdfs;

import java.io.IOException;
import java.io.InputStream;
import java.nio.ByteBuffer;
import java.nio.channels.ReadableByteChannel;

/** The input of a socket that has no channel. Reads into arrays, whatever is there. */
record PlainInput(InputStream in) implements ReadableByteChannel {
    @Override
    public int read(ByteBuffer into) throws IOException {
        int count = in.read(into.array(), into.arrayOffset() + into.position(), into.remaining());
        into.position(into.position() + Math.max(0, count));
        return count;
    }

    @Override
    public boolean isOpen() {
        return true;
    }

    @Override
    public void close() throws IOException {
        in.close();
    }
}
