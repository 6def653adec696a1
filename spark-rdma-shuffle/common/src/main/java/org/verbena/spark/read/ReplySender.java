// SPDX-License-Identifier: Apache-2.0
// Gathers blocks into few large replies.
package org.verbena.spark.read;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.IntFunction;
import org.verbena.core.VbnEngine;
import org.verbena.core.VbnPeer;
import org.verbena.core.plugin.BoundedPool;
import org.verbena.spark.metrics.Traffic;

/**
 * Answers one request. Small pieces are copied next to each other, larger ones travel from where they lie, unless all are
 * to be copied. Belongs to one thread; completions come on the engine's.
 */
final class ReplySender {
    /** Bytes after which a reply is sent. */
    static final int BATCH = 1 << 20;
    /** Pieces of fewer bytes are copied; larger ones must stay as they are until all is sent. */
    static final int COPY_SMALL = 16 << 10;
    /** All pieces are copied, and may go when send() returns. */
    static final int COPY_ALL = Integer.MAX_VALUE;
    private static final int MAX_PARTS = 500;
    private static final int MAX_COPIED = Wire.MAX_BLOCK_BYTES + BATCH;

    private final VbnEngine engine;
    private final BoundedPool pool;
    private final VbnPeer peer;
    private final long request;
    private final Traffic traffic;
    private final int copyBelow;
    private final Runnable whenAllSent;
    private final AtomicInteger outstanding = new AtomicInteger(1);

    ReplySender(VbnEngine engine, BoundedPool pool, VbnPeer peer, long request, Traffic traffic, int copyBelow,
            Runnable whenAllSent) {
        this.engine = engine;
        this.pool = pool;
        this.peer = peer;
        this.request = request;
        this.traffic = traffic;
        this.copyBelow = copyBelow;
        this.whenAllSent = whenAllSent;
    }

    /**
     * Sends blocks (null = cannot be served) from `first` on, as long as there is memory; to be followed by
     * {@link #finished} when all is sent or given up.
     *
     * @param buffers gives memory, or null when there is none
     * @return the first block that was not sent
     */
    int sendAll(ByteBuffer[][] blocks, int first, IntFunction<ByteBuffer> buffers) {
        int sent = first;
        long held = 0;
        for (int i = first; i < blocks.length; i++) {
            held += bytes(blocks[i]);
            if (held >= BATCH || i == blocks.length - 1) {
                if (!send(blocks, sent, i + 1, buffers)) {
                    return sent;
                }
                sent = i + 1;
                held = 0;
            }
        }
        return sent;
    }

    /** Nothing more will be sent; whenAllSent runs now or with the last completion. */
    void finished() {
        if (outstanding.decrementAndGet() == 0) {
            whenAllSent.run();
        }
    }

    /** Tells the other side that the blocks which have not been sent will not come; needs no memory. */
    void refuse() {
        engine.send(peer, Wire.REPLY, Wire.replyHeader(request, 0, 0), null, null);
    }

    private static long bytes(ByteBuffer[] block) {
        long sum = 0;
        for (ByteBuffer piece : block == null ? new ByteBuffer[0] : block) {
            sum += piece.remaining();
        }
        return sum;
    }

    /** Sends the blocks from (inclusive) to (exclusive) as one reply; false when there was no memory for it. */
    boolean send(ByteBuffer[][] blocks, int from, int to, IntFunction<ByteBuffer> buffers) {
        int pieces = 0;
        for (int i = from; i < to; i++) {
            pieces += blocks[i] == null ? 0 : blocks[i].length;
        }
        int limit = pieces > MAX_PARTS ? COPY_ALL : copyBelow;
        long copied = 0;
        for (int i = from; i < to; i++) {
            for (ByteBuffer piece : blocks[i] == null ? new ByteBuffer[0] : blocks[i]) {
                copied += piece.remaining() < limit ? piece.remaining() : 0;
            }
        }
        if (copied > MAX_COPIED) {
            return send(new ByteBuffer[to][], from, to, buffers);
        }
        ByteBuffer scratch = buffers.apply((int) copied + 4 * (to - from));
        if (scratch == null) {
            return false;
        }
        scratch.order(ByteOrder.LITTLE_ENDIAN);
        ByteBuffer[] payload = gather(blocks, from, to, scratch, limit);
        outstanding.incrementAndGet();
        engine.send(peer, Wire.REPLY, Wire.replyHeader(request, from, to - from), payload, (error, length) -> {
            pool.give(scratch);
            finished();
        });
        return true;
    }

    private ByteBuffer[] gather(ByteBuffer[][] blocks, int from, int to, ByteBuffer scratch, int limit) {
        for (int i = from; i < to; i++) {
            long size = bytes(blocks[i]);
            boolean served = blocks[i] != null && size <= Wire.MAX_BLOCK_BYTES;
            scratch.putInt(served ? (int) size : -1);
            if (served) {
                traffic.count(Traffic.Path.SERVED, size);
            }
        }
        List<ByteBuffer> payload = new ArrayList<>();
        int start = 0;
        for (int i = from; i < to; i++) {
            boolean served = blocks[i] != null && bytes(blocks[i]) <= Wire.MAX_BLOCK_BYTES;
            for (ByteBuffer piece : served ? blocks[i] : new ByteBuffer[0]) {
                if (piece.remaining() < limit) {
                    scratch.put(piece.duplicate());
                } else {
                    if (scratch.position() > start) {
                        payload.add(scratch.slice(start, scratch.position() - start));
                        start = scratch.position();
                    }
                    payload.add(piece);
                }
            }
        }
        if (scratch.position() > start) {
            payload.add(scratch.slice(start, scratch.position() - start));
        }
        return payload.toArray(new ByteBuffer[0]);
    }
}
