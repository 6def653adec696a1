// SPDX-License-Identifier: Apache-2.0
package org.verbena.hadoop.lustre.buffer;

import java.io.Closeable;
import java.io.IOException;
import java.nio.ByteBuffer;

/** The bytes of an open file, wherever they are. Any thread. */
public interface Content extends Closeable {
    /**
     * Reads some bytes.
     *
     * @return how many; -1: the file ends before them
     */
    int read(ByteBuffer target, long from) throws IOException;

    /** Bytes of the file at this moment. */
    long size() throws IOException;

    /** False after close. */
    boolean isOpen();
}
