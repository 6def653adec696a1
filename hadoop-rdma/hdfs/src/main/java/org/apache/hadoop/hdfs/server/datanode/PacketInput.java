// SPDX-License-Identifier: Apache-2.0
package org.apache.hadoop.hdfs.server.datanode;

import java.io.Closeable;
import java.io.EOFException;
import java.io.IOException;
import java.nio.ByteBuffer;
import org.verbena.core.plugin.BufferBudget;
import org.verbena.core.plugin.StreamBudget;
import org.verbena.hadoop.net.CorePeer;
import org.verbena.hadoop.net.CoreSocketChannel;
import org.verbena.hadoop.net.PeekedInput;

/**
 * Reads packets from a stream, each into one buffer outside the heap, which is the next packet's as well: the file and the next
 * DataNode get their bytes out of it. The buffer counts against the budget of streams.
 */
final class PacketInput implements Closeable {
    /** Has a packet of Hadoop's usual size. */
    private static final int USUAL = 128 << 10;

    /** Returns when there may be something to read. */
    @FunctionalInterface
    interface Wait {
        void await() throws IOException;
    }

    private final CoreSocketChannel channel;
    private final PeekedInput first;
    private final Wait wait;
    private final BufferBudget.Share memory = StreamBudget.shared().share(USUAL);
    private ByteBuffer buffer;

    PacketInput(CorePeer peer, CoreSocketChannel channel, Wait wait) {
        this.channel = channel;
        this.first = peer.peeked();
        this.wait = wait;
        this.buffer = take(USUAL);
    }

    /** Without memory for it the buffer is in the heap: that costs a copy, and the write goes on. */
    private ByteBuffer take(int bytes) {
        ByteBuffer taken = memory.take(bytes);
        return taken == null ? ByteBuffer.allocate(bytes) : taken;
    }

    private void give() {
        if (buffer.isDirect()) {
            memory.give(buffer);
        }
    }

    /** The next packet, good until the next call. Waits for it. */
    Packet next() throws IOException {
        buffer.clear();
        fill(Packet.LENGTHS);
        int length = Packet.length(buffer);
        if (length > buffer.capacity()) {
            grow(length);
        }
        fill(length);
        return Packet.of(buffer.slice(0, length));
    }

    private void grow(int length) {
        ByteBuffer larger = take(length);
        larger.clear();
        larger.put(buffer.flip());
        give();
        buffer = larger;
    }

    private void fill(int length) throws IOException {
        buffer.limit(length);
        first.readSeen(buffer);
        while (buffer.hasRemaining()) {
            int count = channel.read(buffer);
            if (count < 0) {
                throw new EOFException("Premature EOF: the sender has ended the stream at byte " + buffer.position()
                    + " of a packet");
            }
            if (count == 0) {
                wait.await();
            }
        }
    }

    @Override
    public void close() {
        give();
        memory.close();
    }
}
