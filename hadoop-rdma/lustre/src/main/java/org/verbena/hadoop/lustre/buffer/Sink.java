// SPDX-License-Identifier: Apache-2.0
package org.verbena.hadoop.lustre.buffer;

import java.io.IOException;
import java.nio.ByteBuffer;

/** Where the bytes of a stream go, in their order. One thread at a time. After a failure only {@link #abandon} is called. */
public interface Sink {
    /** Takes all bytes; they are copied or written when it returns. */
    void write(ByteBuffer bytes) throws IOException;

    /** Bytes that were taken are acknowledged, and readers of all hosts see them. */
    void flush() throws IOException;

    /** Bytes that were taken are on the storage of the shared directory. */
    void force() throws IOException;

    /**
     * Acknowledges all bytes and ends.
     *
     * @return whether the shared directory has the bytes at once
     */
    boolean close() throws IOException;

    /** Ends without a promise. */
    void abandon() throws IOException;
}
