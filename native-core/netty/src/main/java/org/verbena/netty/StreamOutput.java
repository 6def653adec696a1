// SPDX-License-Identifier: Apache-2.0
package org.verbena.netty;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.WritableByteChannel;
import org.verbena.core.stream.VbnStream;

/** What a file region writes to; takes what the stream's window takes. Event loop's thread, during one write. */
final class StreamOutput implements WritableByteChannel {
    private final VbnStream stream;
    private boolean full;

    StreamOutput(VbnStream stream) {
        this.stream = stream;
    }

    /** True when the window did not take all. */
    boolean isFull() {
        return full;
    }

    @Override
    public int write(ByteBuffer source) throws IOException {
        int written = stream.write(source);
        full = source.hasRemaining();
        return written;
    }

    @Override
    public boolean isOpen() {
        return true;
    }

    @Override
    public void close() {
        // the channel closes the stream
    }
}
