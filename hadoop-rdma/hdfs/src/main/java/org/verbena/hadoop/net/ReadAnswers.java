// SPDX-License-Identifier: Apache-2.0
package org.verbena.hadoop.net;

import java.nio.ByteBuffer;
import org.apache.hadoop.hdfs.protocol.datatransfer.DataTransferProtocol;
import org.apache.hadoop.hdfs.protocol.datatransfer.Op;
import org.verbena.core.VbnException;
import org.verbena.core.stream.VbnStream;

/**
 * Small pieces of a DataNode's answer to a read, kept until the thread that answers writes more than that, sends from a file,
 * reads, or
 * closes. The answer to a positioned read has four pieces; a client that is woken by the first would go back to sleep before
 * the others are there. A request is known by its first bytes; what other threads write, acknowledgements, leaves at once.
 */
final class ReadAnswers {
    private static final int MOST = 2048;

    private final VbnStream stream;
    private ByteBuffer kept;
    private Thread answering;

    ReadAnswers(VbnStream stream) {
        this.stream = stream;
    }

    /** So many bytes have been read into a buffer, from a place on. */
    synchronized void received(ByteBuffer bytes, int from, int count) {
        boolean request = count > 2 && bytes.get(from) == DataTransferProtocol.DATA_TRANSFER_VERSION >> 8
            && bytes.get(from + 1) == DataTransferProtocol.DATA_TRANSFER_VERSION && bytes.get(from + 2) == Op.READ_BLOCK.code;
        answering = request ? Thread.currentThread() : null;
    }

    /**
     * Takes all of the bytes, if they are part of an answer and the other side has space for what is kept:
     * {@link #send} never waits.
     */
    synchronized boolean keep(ByteBuffer bytes) {
        int before = kept == null ? 0 : kept.position();
        int total = before + bytes.remaining();
        if (Thread.currentThread() != answering || total > MOST || stream.space() < total) {
            return false;
        }
        if (kept == null) {
            kept = ByteBuffer.allocate(MOST);
        }
        kept.put(bytes);
        return true;
    }

    /** Sends what is kept. */
    synchronized void send() throws VbnException {
        if (kept != null && kept.position() > 0) {
            kept.flip();
            try {
                stream.write(kept);
            } finally {
                kept.clear();
            }
        }
    }
}
