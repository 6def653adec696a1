// SPDX-License-Identifier: Apache-2.0
// One finished map output in slabs, pinned while somebody reads it.
package org.verbena.spark.store;

import java.io.IOException;
import java.util.List;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.LongAdder;
import org.verbena.core.SlabPool;

/**
 * Owns the chunks of one map task's output. Readers inside this process {@link #pin} it; {@link #retire} makes further
 * pins fail and returns the chunks to the pool when the last pin is gone. Thread safe.
 */
public final class MapOutput {
    /** Why an output cannot be pinned any more. */
    public enum State { LIVE, SPILLED, REMOVED }

    private final int shuffleId;
    private final long mapId;
    private final long bytes;
    private final MapIndex index;
    private final List<SlabPool.Chunk> chunks;
    private final LongAdder pinned;
    private final AtomicLong uses;
    private State state = State.LIVE;
    private int pins;
    private boolean freed;
    private volatile long lastUse;

    /**
     * Makes a live one.
     *
     * @param pinned counts the bytes of outputs that have a pin
     * @param uses counts what happens to outputs, as a clock
     */
    MapOutput(int shuffleId, long mapId, long bytes, MapIndex index, List<SlabPool.Chunk> chunks, LongAdder pinned,
            AtomicLong uses) {
        this.shuffleId = shuffleId;
        this.mapId = mapId;
        this.bytes = bytes;
        this.index = index;
        this.chunks = chunks;
        this.pinned = pinned;
        this.uses = uses;
        this.lastUse = uses.incrementAndGet();
    }

    /** An output that went to Spark's files at once. */
    static MapOutput inFiles(int shuffleId, long mapId, long bytes) {
        MapOutput output = new MapOutput(shuffleId, mapId, bytes, null, List.of(), new LongAdder(), new AtomicLong());
        output.state = State.SPILLED;
        return output;
    }

    /** Spark's shuffle id. */
    public int shuffleId() {
        return shuffleId;
    }

    /** Spark's map id, unique over task attempts. */
    public long mapId() {
        return mapId;
    }

    /** Bytes of all partitions. */
    public long bytes() {
        return bytes;
    }

    /** Where the partitions lie; its pieces may be read while pinned. */
    public MapIndex index() {
        return index;
    }

    /** Takes a pin; false when the output is spilled or removed. Each true needs one {@link #unpin}. */
    public synchronized boolean pin() {
        if (state != State.LIVE) {
            return false;
        }
        if (pins++ == 0) {
            pinned.add(bytes);
        }
        lastUse = uses.incrementAndGet();
        return true;
    }

    /**
     * Takes a pin for reading partitions [start, end).
     *
     * @param verify whether their bytes are compared with their checksums, if there are some
     * @return false when the output is spilled or removed
     * @throws IOException when bytes are damaged; then there is no pin
     */
    public boolean pin(int start, int end, boolean verify) throws IOException {
        if (!pin()) {
            return false;
        }
        boolean right = false;
        try {
            if (verify) {
                index.verify(start, end);
            }
            right = true;
        } finally {
            if (!right) {
                unpin();
            }
        }
        return true;
    }

    /** Gives a pin back. */
    public synchronized void unpin() {
        if (--pins > 0) {
            return;
        }
        pinned.add(-bytes);
        if (state != State.LIVE) {
            free();
        }
    }

    /** How little it costs to have it on disk: its bytes times what happened to others since its last use in this process. */
    double coldness() {
        return (double) bytes * (uses.get() - lastUse + 1);
    }

    /** Whether it lives, was spilled to files or removed. */
    public synchronized State state() {
        return state;
    }

    /** Ends the output; false when it had ended before. */
    synchronized boolean retire(State end) {
        if (state != State.LIVE) {
            return false;
        }
        state = end;
        index.retire();
        if (pins == 0) {
            free();
        }
        return true;
    }

    private void free() {
        if (!freed) {
            freed = true;
            chunks.forEach(SlabPool.Chunk::release);
        }
    }
}
