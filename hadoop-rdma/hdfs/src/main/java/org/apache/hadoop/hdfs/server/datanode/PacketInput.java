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
 * Reads packets from a stream. One that has come in one piece stays where it lies, in memory that its sender lends or in the
 * stream's own: the file and the next DataNode get their bytes out of it. Several that have come together stay there together.
 * Any other packet is copied into one buffer outside the heap, which counts against the budget of streams.
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
    /** Null until a packet has to be copied. */
    private ByteBuffer buffer;
    /** Bytes of the packets that lie in the stream's memory and were given out; 0: none does. */
    private int held;
    /** The packet behind them, which has come as a whole; null where that is not known. */
    private Packet following;

    PacketInput(CorePeer peer, CoreSocketChannel channel, Wait wait) {
        this.channel = channel;
        this.first = peer.peeked();
        this.wait = wait;
    }

    /** Without memory for it the buffer is in the heap: that costs a copy, and the write goes on. */
    private ByteBuffer take(int bytes) {
        ByteBuffer taken = memory.take(bytes);
        return taken == null ? ByteBuffer.allocate(bytes) : taken;
    }

    private void give() {
        if (buffer != null && buffer.isDirect()) {
            memory.give(buffer);
        }
    }

    /** The next packet, good until {@link #release}. Waits for it, unless it {@link #follows}. */
    Packet next() throws IOException {
        if (!follows()) {
            release();
            awaitFirst();
        }
        if (following == null) {
            return copied();
        }
        Packet packet = following;
        following = null;
        held += packet.whole().limit();
        OwnReceiver.UNCOPIED.increment();
        return packet;
    }

    /** Whether the next packet has come, and those before it may stay where they lie meanwhile. */
    boolean follows() throws IOException {
        if (held > 0 && following == null) {
            ByteBuffer there = channel.look(held);
            following = there == null ? null : Packet.first(there);
        }
        return following != null;
    }

    /** Finds the first packet, if it lies in the stream's memory; it does not when it has come in part, or the stream has ended. */
    private void awaitFirst() throws IOException {
        if (first.hasSeen()) {
            return;
        }
        ByteBuffer there = channel.look(0);
        while (there == null && !channel.hasInput()) {
            wait.await();
            there = channel.look(0);
        }
        try {
            following = there == null ? null : Packet.first(there);
        } finally {
            if (following == null) {
                channel.skip(0);
            }
        }
    }

    /** Nobody needs the bytes of the packets that were given out any more. */
    void release() {
        following = null;
        if (held > 0) {
            int length = held;
            held = 0;
            channel.skip(length);
        }
    }

    private Packet copied() throws IOException {
        if (buffer == null) {
            buffer = take(USUAL);
        }
        buffer.clear();
        fill(Packet.LENGTHS);
        int length = Packet.length(buffer);
        if (length > buffer.capacity()) {
            grow(length);
        }
        fill(length);
        return Packet.first(buffer.slice(0, length));
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
        release();
        give();
        memory.close();
    }
}
