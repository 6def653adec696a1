// SPDX-License-Identifier: Apache-2.0
package org.apache.hadoop.hdfs.server.datanode;

import java.io.DataOutputStream;
import java.io.IOException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.LongSupplier;
import org.apache.hadoop.hdfs.protocol.datatransfer.PipelineAck;

/**
 * The way of acknowledgements to who sends the packets. While packets follow each other at once, several acknowledgements leave
 * in one message: each message may wake the other side. One thread writes, keeps and flushes; any thread tells.
 */
final class AckOutput {
    /** So many leave without a {@link #flush}; their packets, of Hadoop's usual size, fill whole pages of the file. */
    static final int TOGETHER = 8;
    /** None waits for others when none has left for so long: a slow disk delays each, and the sender has its time limit. */
    static final long MOST_SILENT_MILLIS = 500;

    private final DataOutputStream out;
    private final ReentrantLock sending = new ReentrantLock();
    /** Those that have not left, but for what {@link #tell} took along. */
    private int kept;
    private long leftMillis;
    private final LongSupplier clock;

    /** out: buffered. clock: of milliseconds. */
    AckOutput(DataOutputStream out, LongSupplier clock) {
        this.out = out;
        this.clock = clock;
        leftMillis = clock.getAsLong();
    }

    /** Sends an acknowledgement, at once or with those that follow. */
    void write(PipelineAck ack, boolean atOnce) throws IOException {
        sending.lock();
        try {
            ack.write(out);
        } finally {
            sending.unlock();
        }
        kept++;
        if (atOnce || kept >= TOGETHER || clock.getAsLong() - leftMillis > MOST_SILENT_MILLIS) {
            flush();
        }
    }

    boolean isEmpty() {
        return kept == 0;
    }

    /** What is kept leaves. */
    void flush() throws IOException {
        if (kept == 0) {
            return;
        }
        sending.lock();
        try {
            out.flush();
        } finally {
            sending.unlock();
        }
        kept = 0;
        leftMillis = clock.getAsLong();
    }

    /** Sends a message after what is kept; false when another thread is sending for so long. */
    boolean tell(PipelineAck message, long millis) throws IOException, InterruptedException {
        if (!sending.tryLock(millis, TimeUnit.MILLISECONDS)) {
            return false;
        }
        try {
            message.write(out);
            out.flush();
        } finally {
            sending.unlock();
        }
        return true;
    }
}
