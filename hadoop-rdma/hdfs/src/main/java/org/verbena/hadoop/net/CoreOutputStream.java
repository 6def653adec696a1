// SPDX-License-Identifier: Apache-2.0
package org.verbena.hadoop.net;

import java.io.IOException;
import java.nio.channels.FileChannel;
import org.apache.hadoop.io.LongWritable;
import org.apache.hadoop.net.SocketOutputStream;

/**
 * The output of a stream as Hadoop's socket output, so that a DataNode sends blocks from their files by
 * {@link #transferToFully}: here the file is read straight into the messages, in place of sendfile(2).
 */
final class CoreOutputStream extends SocketOutputStream {
    private final CoreSocketChannel channel;

    CoreOutputStream(CoreSocketChannel channel) throws IOException {
        super(channel, 0);
        this.channel = channel;
    }

    @Override
    public void transferToFully(FileChannel file, long position, int count, LongWritable waitTime,
            LongWritable transferTime) throws IOException {
        long waited = 0;
        long begun = System.nanoTime();
        for (int done = 0; done < count;) {
            int sent = channel.transferFrom(file, position + done, count - done);
            if (sent == 0) {
                long from = System.nanoTime();
                waitForWritable();
                waited += System.nanoTime() - from;
            }
            done += sent;
        }
        if (waitTime != null) {
            waitTime.set(waited);
        }
        if (transferTime != null) {
            transferTime.set(System.nanoTime() - begun - waited);
        }
    }

    @Override
    public void transferToFully(FileChannel file, long position, int count) throws IOException {
        transferToFully(file, position, count, null, null);
    }
}
