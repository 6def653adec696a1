// SPDX-License-Identifier: Apache-2.0
// One partition of a map output while its task writes it.
package org.verbena.spark.store;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.Set;
import java.util.zip.Checksum;
import org.verbena.core.SlabPool;

/** Receives bytes into heap memory first, from there in larger steps into chunks. Belongs to the task's thread. */
final class PartitionStream extends ByteSink {
    /** A partition that stays smaller never takes a chunk of its own. */
    private static final int STAGE = 4 << 10;

    private final boolean sequential;
    private final Rooms rooms;
    private final ShuffleFiles files;
    private final List<OverflowFile.Run> runs = new ArrayList<>(0);
    /** What follows the runs. */
    private final List<Piece> pieces = new ArrayList<>(2);
    private Room room;
    private int start;
    private int nextChunk = Rooms.FIRST_CHUNK;
    private long drained;
    /** Of the bytes that are on disk; null where there are no checksums, or nothing is on disk yet. */
    private Checksum sum;

    /**
     * Makes an empty one.
     *
     * @param sequential whether partitions are written one after the other, each closed before the next
     */
    PartitionStream(boolean sequential, Rooms rooms, ShuffleFiles files) {
        super(STAGE);
        this.sequential = sequential;
        this.rooms = rooms;
        this.files = files;
    }

    long length() {
        return drained + buffered();
    }

    /** The pieces; all bytes are in them after {@link #finish} and {@link #pack}. */
    List<Piece> pieces() {
        return pieces;
    }

    boolean isInChunks() {
        return runs.isEmpty() && pieces.stream().allMatch(piece -> piece.chunk() != null);
    }

    /** Copies the first of the bytes that are in memory; returns how many. */
    int sample(byte[] into) {
        ByteBuffer to = ByteBuffer.wrap(into);
        for (Piece piece : pieces) {
            take(piece.bytes(), to);
        }
        if (room != null) {
            take(room.buffer().duplicate().flip().position(start), to);
        }
        take(rest(), to);
        return to.position();
    }

    private static void take(ByteBuffer from, ByteBuffer to) {
        ByteBuffer some = from.duplicate();
        to.put(some.limit(some.position() + Math.min(some.remaining(), to.remaining())));
    }

    @Override
    protected void drain(byte[] from, int offset, int count) throws IOException {
        if (rooms.isReleased()) {
            return; // a stream around this one ends, of an output that is given up
        }
        int at = offset;
        int left = count;
        while (left > 0) {
            if (room == null || !room.buffer().hasRemaining()) {
                makeRoom();
            }
            int n = Math.min(left, room.buffer().remaining());
            room.buffer().put(from, at, n);
            at += n;
            left -= n;
        }
        drained += count;
    }

    @Override
    public void close() throws IOException {
        if (!sequential || rooms.isReleased()) {
            return;
        }
        drainAll();
        shrink();
        if (room != null) {
            Room rest = room;
            seal();
            rooms.leave(rest);
        }
    }

    private void makeRoom() throws IOException {
        seal();
        if (sequential) {
            room = rooms.following();
        } else {
            room = rooms.fresh(nextChunk);
            nextChunk = rooms.grown(nextChunk);
        }
        start = room.buffer().position();
    }

    /** Ends the piece in the current room. */
    private void seal() {
        if (room != null && room.buffer().position() > start) {
            int size = room.buffer().position() - start;
            pieces.add(new Piece(room.chunk(), room.buffer().duplicate().flip().slice(start, size), start, size));
            rooms.count();
        }
        room = null;
    }

    /** Ends the partition: what is left in heap memory goes to its own chunk if that has space. */
    void finish() throws IOException {
        if (room != null && room.buffer().remaining() >= buffered()) {
            drainAll();
        }
        seal();
    }

    /** Whether the last piece leaves so much of its own chunk free that a copy is better. */
    private boolean wastesChunk() {
        return !sequential && !pieces.isEmpty() && last().length() <= last().chunk().capacity() * 3L / 4;
    }

    private Piece last() {
        return pieces.get(pieces.size() - 1);
    }

    /** Bytes that {@link #pack} would move. */
    int packable() {
        return buffered() + (wastesChunk() ? last().length() : 0);
    }

    /** Moves the packable bytes into a shared room; returns the chunk that is empty now, or null. */
    SlabPool.Chunk pack(Room shared) throws IOException {
        Piece moved = wastesChunk() ? pieces.remove(pieces.size() - 1) : null;
        room = shared;
        start = shared.buffer().position();
        if (moved != null) {
            shared.buffer().put(moved.bytes());
        }
        drainAll();
        seal();
        return moved == null ? null : moved.chunk();
    }

    /** Bytes that {@link #overflow} would move. */
    long inMemory() {
        return pieces.stream().mapToLong(Piece::length).sum() + (room == null ? 0 : room.buffer().position() - start);
    }

    /** Moves what is in chunks and heap pieces to disk; returns how many bytes that were. */
    long overflow(OverflowFile file) throws IOException {
        seal();
        if (pieces.isEmpty()) {
            return 0;
        }
        pieces.forEach(piece -> addToSum(piece.bytes()));
        OverflowFile.Run run = file.add(pieces);
        runs.add(run);
        pieces.clear();
        return run.bytes();
    }

    /** Adds the chunks in which its bytes are. */
    void addChunks(Set<SlabPool.Chunk> chunks) {
        pieces.stream().map(Piece::chunk).filter(Objects::nonNull).forEach(chunks::add);
        if (room != null && room.chunk() != null) {
            chunks.add(room.chunk());
        }
    }

    /** Writes all bytes, those in the overflow file too; returns how many. */
    long write(FileSink to, OverflowFile file) throws IOException {
        long bytes = 0;
        for (OverflowFile.Run run : runs) {
            bytes += file.copy(run, to);
        }
        for (Piece piece : pieces) {
            addToSum(piece.bytes());
            bytes += to.write(piece.bytes().duplicate());
        }
        addToSum(rest());
        return bytes + to.write(rest());
    }

    /** Adds bytes that go to disk, in their order. */
    private void addToSum(ByteBuffer bytes) {
        sum = sum == null ? files.checksum() : sum;
        if (sum != null) {
            sum.update(bytes.duplicate());
        }
    }

    /** The checksum of what was written; only where there are checksums. */
    long sum() {
        return (sum == null ? files.checksum() : sum).getValue();
    }
}
