// SPDX-License-Identifier: Apache-2.0
package org.apache.hadoop.hdfs.server.datanode;

import java.io.IOException;
import java.io.InputStream;
import java.util.Arrays;
import org.apache.hadoop.hdfs.protocol.datatransfer.DataTransferProtocol;
import org.apache.hadoop.hdfs.protocol.datatransfer.Op;
import org.verbena.hadoop.net.PeekedInput;

/**
 * What Hadoop's DataXceiver reads of a stream. Requests to read a block that are answered here never reach it: it waits for its
 * next request meanwhile. It gets all else message by message, so that each of its reads begins with a message: a request, or the
 * status that a client sends after a read. From the first other request on it gets the bytes as they come. One thread.
 */
final class AnsweringInput extends InputStream {
    /** Version, operation, and the length of the request that follows, of one to five bytes. */
    private static final int HEAD = 3;
    private static final int LENGTH_MOST = 5;
    /** A longer request is Hadoop's to read. */
    private static final int REQUEST_MOST = 4096;

    /** Answers requests. */
    interface Reads {
        /**
         * Answers a request to read a block.
         *
         * @param request what follows its length
         * @return false when nothing was sent, and the request is Hadoop's
         */
        boolean answer(byte[] request) throws IOException;

        /** Hadoop gets a request. */
        void leave();

        /** The client has said how the read went, and may rest. */
        void rest();
    }

    private final PeekedInput in;
    private final Reads reads;
    /** Bytes of the message that is Hadoop's. */
    private int left;
    /** A client owes the status of a read that was answered here. */
    private boolean owed;
    /** All is Hadoop's. */
    private boolean off;

    AnsweringInput(PeekedInput in, Reads reads) {
        this.in = in;
        this.reads = reads;
    }

    @Override
    public int read() throws IOException {
        byte[] one = new byte[1];
        return read(one, 0, 1) < 0 ? -1 : one[0] & 0xff;
    }

    @Override
    public int read(byte[] bytes, int offset, int length) throws IOException {
        while (!off && left == 0) {
            next();
        }
        int count = in.read(bytes, offset, off ? length : Math.min(length, left));
        left -= off ? 0 : Math.max(0, count);
        return count;
    }

    /** Answers the next message, or finds out how much of it is Hadoop's. */
    private void next() throws IOException {
        byte[] first = in.peek(1);
        if (first.length == 1 && first[0] != DataTransferProtocol.DATA_TRANSFER_VERSION >> 8) {
            status(first[0]);
        } else if (isRead(in.peek(HEAD))) {
            request();
        } else {
            off = true;
            reads.leave();
        }
    }

    private static boolean isRead(byte[] head) {
        return head.length == HEAD && head[1] == DataTransferProtocol.DATA_TRANSFER_VERSION && head[2] == Op.READ_BLOCK.code;
    }

    /** A status is no longer than 127 bytes, so that its length has one byte; anything else begins a handshake. */
    private void status(byte length) throws IOException {
        if (length < 0) {
            off = true;
        } else if (owed) {
            in.skipSeen(in.peek(1 + length).length);
            owed = false;
            reads.rest();
        } else {
            left = 1 + length;
        }
    }

    private void request() throws IOException {
        byte[] head = in.peek(HEAD + LENGTH_MOST);
        int bytes = 0; // of the length
        long length = 0;
        do {
            length |= HEAD + bytes < head.length ? (head[HEAD + bytes] & 0x7fL) << 7 * bytes : 0;
            bytes++;
        } while (bytes < LENGTH_MOST && HEAD + bytes <= head.length && head[HEAD + bytes - 1] < 0);
        long total = HEAD + bytes + length;
        if (total > REQUEST_MOST) {
            off = true;
            reads.leave();
            return;
        }
        byte[] message = in.peek((int) total);
        if (message.length == total && reads.answer(Arrays.copyOfRange(message, HEAD + bytes, (int) total))) {
            in.skipSeen((int) total);
            owed = true;
        } else {
            left = (int) total;
            reads.leave();
        }
    }
}
