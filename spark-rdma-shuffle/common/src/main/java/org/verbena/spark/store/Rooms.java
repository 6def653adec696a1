// SPDX-License-Identifier: Apache-2.0
// The memory of one map output while its task writes it.
package org.verbena.spark.store;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;
import org.verbena.core.SlabPool;

/** Chunks that grow with what is written; heap memory when there are none. Belongs to the task's thread. */
final class Rooms {
    static final int FIRST_CHUNK = 16 << 10;
    static final int LARGE_CHUNK = 1 << 20;
    private static final int HEAP_CHUNK = 16 << 10;
    private static final int SEQUENTIAL_CHUNK = 64 << 10;
    /** Each piece of a partition takes about a hundred bytes of heap, of which nobody else knows. */
    static final int MOST_PIECES = 1 << 18;
    private static final int LEAST_TRIM = 4 << 10;
    private static final long OVERFLOW_UNIT = 4L << 20;
    private static final int OVERFLOW_SHARE = 4;

    private final SlabStore store;
    private final Relief relief;
    private final Set<SlabPool.Chunk> chunks = new LinkedHashSet<>();
    private Room left;
    private int sequentialChunk = SEQUENTIAL_CHUNK;
    private long heldBytes;
    private boolean released;
    private int pieces;

    /** Moves so many bytes of what is held to disk, or a little more, and calls {@link #keep}. */
    interface Relief {
        void overflow(long bytes) throws IOException;
    }

    Rooms(SlabStore store, Relief relief) {
        this.store = store;
        this.relief = relief;
    }

    /** For a partition that is written after another one: goes on in the chunk where that ended. */
    Room following() throws IOException {
        boundPieces();
        if (left != null) {
            Room rest = left;
            left = null;
            return rest;
        }
        Room room = fresh(sequentialChunk);
        sequentialChunk = Math.min(sequentialChunk * 4, LARGE_CHUNK);
        return room;
    }

    /** For one of several partitions that are written at a time. */
    Room fresh(int bytes) throws IOException {
        boundPieces();
        SlabPool.Chunk chunk = store.allocate(bytes);
        if (chunk == null && heldBytes >= OVERFLOW_UNIT) {
            relief.overflow(Math.max(OVERFLOW_UNIT, heldBytes / OVERFLOW_SHARE));
            chunk = store.allocate(bytes);
        }
        if (chunk == null) {
            heldBytes += HEAP_CHUNK;
            return new Room(null, ByteBuffer.allocate(HEAP_CHUNK));
        }
        heldBytes += chunk.capacity();
        return held(chunk);
    }

    /** A partition has one piece more. */
    void count() {
        pieces++;
    }

    /** All pieces become one run for each partition. */
    private void boundPieces() throws IOException {
        if (pieces >= MOST_PIECES) {
            relief.overflow(Long.MAX_VALUE);
        }
    }

    /** For the ends of many partitions; null when there is no slab memory. */
    Room shared(int bytes) throws IOException {
        SlabPool.Chunk chunk = store.allocate(bytes);
        return chunk == null ? null : held(chunk);
    }

    private Room held(SlabPool.Chunk chunk) {
        chunks.add(chunk);
        return new Room(chunk, chunk.buffer());
    }

    /** The chunk size after this one, for a partition that goes on growing. */
    int grown(int bytes) {
        return Math.min(bytes * 4, Math.max(store.chunkBytes(), FIRST_CHUNK));
    }

    /** What the partition has not filled; the next one may. */
    void leave(Room room) {
        left = room.buffer().hasRemaining() ? room : null;
    }

    /** Nothing follows: what is left of the last chunk goes back. */
    void finish() {
        if (left != null) {
            trim(left);
        }
        left = null;
    }

    /** Gives back what a room has not filled, unless that is hardly worth a hole in its slab. */
    static void trim(Room room) {
        if (room.chunk() != null && room.buffer().remaining() >= LEAST_TRIM) {
            room.chunk().shrink(room.buffer().position());
        }
    }

    void release(SlabPool.Chunk chunk) {
        chunks.remove(chunk);
        chunk.release();
    }

    /** Gives all chunks back; the output is given up. */
    void release() {
        released = true;
        keep(Set.of(), 0);
    }

    /** Whether the memory is given back: what is written from now on has no place. */
    boolean isReleased() {
        return released;
    }

    /**
     * Gives all chunks back but these, in which there are so many pieces. What is left in heap memory no longer counts: 16 KiB
     * at most for each such call.
     */
    void keep(Set<SlabPool.Chunk> used, int count) {
        left = null;
        pieces = count;
        chunks.stream().filter(chunk -> !used.contains(chunk)).toList().forEach(this::release);
        heldBytes = chunks.stream().mapToLong(SlabPool.Chunk::capacity).sum();
    }

    List<SlabPool.Chunk> chunks() {
        return List.copyOf(chunks);
    }
}
