// SPDX-License-Identifier: Apache-2.0
package org.apache.hadoop.hdfs.server.datanode;

import java.io.Closeable;
import java.io.IOException;
import java.io.InterruptedIOException;
import java.net.SocketTimeoutException;
import java.nio.ByteBuffer;
import java.nio.channels.SelectionKey;
import java.nio.channels.Selector;
import org.apache.hadoop.util.Time;
import org.verbena.hadoop.net.CoreSocketChannel;

/**
 * All waits of the thread that receives a block: for a packet, for space at the next DataNode, for an acknowledgement. Whatever
 * it waits for, acknowledgements that come meanwhile go on at once. An interrupt ends each wait with an exception.
 */
final class PipelineWait implements Closeable {
    private static final long NEVER = Long.MAX_VALUE;
    /** Acknowledgements that go on before the next packet is looked for. */
    private static final int AT_ONCE = 64;

    private final AckChain acks;
    private final Downstream next;
    private final int inputMillis;
    private final Selector input;
    private final SelectionKey packets;
    /** Of the same selector as packets; null without acknowledgements. */
    private final SelectionKey inputAcks;
    private final Selector output;
    /** For space and acknowledgements; null without another DataNode. */
    private final SelectionKey out;

    /**
     * Takes the streams.
     *
     * @param from gives packets
     * @param inputMillis longest wait for one, 0 for any
     * @param next the next DataNode or null
     * @param acks null when there are no acknowledgements
     */
    PipelineWait(CoreSocketChannel from, int inputMillis, Downstream next, AckChain acks) throws IOException {
        this.acks = acks;
        this.next = next;
        this.inputMillis = inputMillis;
        input = from.provider().openSelector();
        output = next == null ? null : from.provider().openSelector();
        try {
            packets = from.register(input, SelectionKey.OP_READ);
            out = next == null ? null : next.channel().register(output, 0);
            inputAcks = next == null || acks == null ? null : next.channel().register(input, SelectionKey.OP_READ);
        } catch (IOException | RuntimeException e) { // a stream has ended
            close();
            throw e;
        }
    }

    private boolean hasAcks() {
        return inputAcks != null && !acks.isBroken();
    }

    /** Waits for something to read from the sender. */
    void awaitInput() throws IOException {
        long end = inputMillis == 0 ? NEVER : Time.monotonicNow() + inputMillis;
        while (true) {
            if (inputAcks != null && acks.isBroken() && inputAcks.isValid()) {
                inputAcks.cancel();
            }
            flushAcks();
            select(input, Math.min(end, owed()));
            relayIf(inputAcks);
            if (isReady(packets)) {
                return;
            }
            if (Time.monotonicNow() >= end) {
                throw new SocketTimeoutException(inputMillis + " millis timeout while waiting for a packet from "
                    + packets.channel());
            }
        }
    }

    /**
     * Sends bytes to the next DataNode, if it is not lost.
     *
     * @param since when this began, in monotonic milliseconds
     * @throws IOException when the block cannot go on here; the loss of the next DataNode is the acknowledgements' matter
     */
    void send(ByteBuffer bytes, long since) throws IOException {
        while (bytes.hasRemaining() && !acks.isBroken()) {
            int count;
            try {
                count = next.channel().write(bytes);
            } catch (IOException e) {
                lost(e);
                return;
            }
            if (count == 0) {
                awaitSpace(since);
            }
        }
    }

    /** What it has said before comes first: it may be that the data was corrupt when it came. */
    private void lost(IOException cause) throws IOException {
        pollAcks();
        if (!acks.isBroken()) {
            acks.broke(cause);
        }
    }

    private void awaitSpace(long since) throws IOException {
        out.interestOps(SelectionKey.OP_READ | SelectionKey.OP_WRITE);
        flushAcks();
        long owed = acks.isEmpty() ? since + next.readTimeout() : owed();
        select(output, owed);
        if (isReady(out, SelectionKey.OP_READ)) {
            acks.relay();
        } else if (!isReady(out) && Time.monotonicNow() >= owed) {
            acks.broke(standsStill());
        }
    }

    private SocketTimeoutException standsStill() {
        return new SocketTimeoutException(next.node() + " acknowledges no packet, and takes none, for " + next.readTimeout()
            + " ms");
    }

    /** Sends on what acknowledgements have come: sending a packet on and reading the next one have brought them. */
    void pollAcks() throws IOException {
        for (int i = 0; i < AT_ONCE && hasAcks() && next.channel().hasInput(); i++) {
            acks.relay();
        }
    }

    /** Waits for an acknowledgement, and sends it on. */
    void awaitAck() throws IOException {
        out.interestOps(SelectionKey.OP_READ);
        flushAcks();
        select(output, owed());
        relayIf(out);
    }

    /** Nothing that is said already waits while this thread does. */
    private void flushAcks() throws IOException {
        if (acks != null) {
            acks.flush();
        }
    }

    /** When the next DataNode is late. */
    private long owed() {
        if (!hasAcks() || acks.owedSince() == NEVER) {
            return NEVER;
        }
        return acks.owedSince() + next.readTimeout();
    }

    private void relayIf(SelectionKey key) throws IOException {
        if (!hasAcks()) {
            return;
        }
        if (isReady(key)) {
            acks.relay();
        } else if (Time.monotonicNow() >= owed()) {
            acks.broke(standsStill());
        }
    }

    private static boolean isReady(SelectionKey key) {
        return isReady(key, key.interestOps());
    }

    /** Who reads from a stream that is closed here learns it. */
    private static boolean isReady(SelectionKey key, int ops) {
        return !key.channel().isOpen() || (key.readyOps() & ops) != 0;
    }

    private static void select(Selector selector, long until) throws IOException {
        long left = until == NEVER ? 0 : Math.max(0, until - Time.monotonicNow());
        if (until != NEVER && left == 0) {
            selector.selectNow();
        } else {
            selector.select(left);
        }
        selector.selectedKeys().clear();
        if (Thread.currentThread().isInterrupted()) {
            throw new InterruptedIOException("interrupted while waiting for " + selector.keys());
        }
    }

    @Override
    public void close() throws IOException {
        input.close();
        if (output != null) {
            output.close();
        }
    }
}
