// SPDX-License-Identifier: Apache-2.0
// The memory of a job's server for what is being sent, and who holds how much of it.
package org.verbena.hadoop.shuffle;

import java.io.IOException;
import java.util.HashMap;
import java.util.Map;
import org.verbena.core.SlabPool;
import org.verbena.core.VbnContext;
import org.verbena.core.VbnPeer;

/**
 * A piece occupies memory until its reducer has pulled it, which one that stands still never does. So a reducer holds at most a
 * quarter of what is left for others: four that stand still leave 6 of 16 MiB, and thirty still some pieces of the least length.
 * Pieces get shorter where little is left. Thread safe.
 */
final class ServerMemory implements AutoCloseable {
    /** A shorter piece is not worth its message. */
    static final int LEAST = 16 << 10;
    private static final int PART = 4;
    private static final int SLAB = 4 << 20;

    private final SlabPool pool;
    private final long limit;
    private final Map<VbnPeer, Long> held = new HashMap<>();
    private long all;

    /** limit: bytes. */
    ServerMemory(VbnContext context, long limit) {
        pool = SlabPool.anonymous(context, SLAB, limit);
        this.limit = limit;
    }

    /**
     * Memory for a piece.
     *
     * @param chunk its memory
     * @param bytes what may be used of that
     */
    record Piece(SlabPool.Chunk chunk, int bytes) {
    }

    /**
     * Takes memory for a reducer.
     *
     * @param wanted bytes, at most {@link Wire#PIECE}; the piece may be shorter
     * @return a piece, to be given back; null when the reducer has to wait
     * @throws IOException when there is no memory at all
     */
    synchronized Piece take(VbnPeer peer, int wanted) throws IOException {
        int bytes = share(held.getOrDefault(peer, 0L), all, limit, wanted);
        while (bytes > 0) {
            SlabPool.Chunk chunk = pool.allocate(bytes);
            if (chunk != null) {
                held.merge(peer, (long) bytes, Long::sum);
                all += bytes;
                return new Piece(chunk, bytes);
            }
            bytes = bytes > LEAST ? bytes / 2 : 0; // what is free lies apart
        }
        if (all == 0) {
            throw new IOException("no shareable memory on this node (see the log of its NodeManager)");
        }
        return null;
    }

    /**
     * How many bytes a piece may have.
     *
     * @param mine what its reducer holds
     * @param all what all hold
     */
    static int share(long mine, long all, long limit, int wanted) {
        long free = limit - all;
        long most = (free - PART * mine) / (PART + 1); // afterwards the reducer holds no more than a part of what is free
        if (most >= Math.min(wanted, LEAST)) {
            return (int) Math.min(wanted, most);
        }
        int least = Math.min(wanted, LEAST);
        return mine == 0 && free >= least ? least : 0;
    }

    /** A piece has been pulled, or never will be. */
    void giveBack(VbnPeer peer, Piece piece) {
        piece.chunk().release();
        synchronized (this) {
            held.computeIfPresent(peer, (key, bytes) -> bytes == piece.bytes() ? null : bytes - piece.bytes());
            all -= piece.bytes();
        }
    }

    /** Ends it; pieces that are still held go with the context. */
    @Override
    public void close() {
        pool.close();
    }
}
