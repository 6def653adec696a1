// SPDX-License-Identifier: Apache-2.0
// A map output while its task writes it: every partition grows piece by piece in slab chunks.
package org.verbena.spark.store;

import java.io.File;
import java.io.IOException;
import java.io.OutputStream;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;
import java.util.zip.Checksum;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.verbena.core.SlabPool;

/**
 * Any number of partitions may be open at once (the hash writer) or one after the other (Spark's sorters); in the second
 * case a partition goes on in the chunk where the one before ended. When the budget is exhausted, what is held moves to
 * a temporary file and the output ends as Spark's own file pair. Belongs to the task's thread. Must be ended by
 * {@link #commit} or {@link #abort}.
 */
public final class OutputBuffer {
    private static final Logger LOG = LoggerFactory.getLogger(OutputBuffer.class);
    /** A partition that stays smaller never takes a chunk of its own. */
    private static final int STAGE = 4 << 10;
    private static final int FIRST_CHUNK = 16 << 10;
    private static final int HEAP_CHUNK = 16 << 10;
    private static final int LARGE_CHUNK = 1 << 20;
    private static final long OVERFLOW_UNIT = 4L << 20;

    private final SlabStore store;
    private final int shuffleId;
    private final long mapId;
    private final PartitionStream[] partitions;
    private final Set<SlabPool.Chunk> chunks = new LinkedHashSet<>();
    private Room carried;
    private int sequentialChunk = 64 << 10;
    private long heldBytes;
    private File overflowFile;
    private FileChannel overflow;
    private boolean ended;

    OutputBuffer(SlabStore store, int shuffleId, long mapId, int partitions) {
        this.store = store;
        this.shuffleId = shuffleId;
        this.mapId = mapId;
        this.partitions = new PartitionStream[partitions];
    }

    /** Memory that is being filled: a chunk, or a heap buffer when there is none. */
    private record Room(SlabPool.Chunk chunk, ByteBuffer buffer) {
    }

    /** A finished piece: in a chunk (slab, offset), in heap memory, or in the overflow file. */
    private record Piece(SlabPool.Chunk chunk, ByteBuffer bytes, long fileOffset, int length) {
    }

    /**
     * The stream of one partition; made at the first call.
     *
     * @param sequential whether partitions are written one after the other, each closed before the next
     */
    public OutputStream stream(int partition, boolean sequential) {
        if (partitions[partition] == null) {
            partitions[partition] = new PartitionStream(sequential);
        }
        return partitions[partition];
    }

    /** Bytes of a partition so far. */
    public long length(int partition) {
        return partitions[partition] == null ? 0 : partitions[partition].length();
    }

    /**
     * Copies a partition's first bytes, as far as they are in memory; before {@link #commit}.
     *
     * @return how many
     */
    public int sample(int partition, byte[] into) {
        return partitions[partition] == null ? 0 : partitions[partition].sample(into);
    }

    /** Receives a partition's bytes: into heap memory first, from there in larger steps into chunks. */
    private final class PartitionStream extends ByteSink {
        private final boolean sequential;
        private final List<Piece> pieces = new ArrayList<>(2);
        private Room room;
        private int start;
        private int nextChunk = FIRST_CHUNK;
        private long drained;
        /** Of the bytes that are on disk; null where there are no checksums, or nothing is on disk yet. */
        private Checksum sum;

        PartitionStream(boolean sequential) {
            super(STAGE);
            this.sequential = sequential;
        }

        long length() {
            return drained + buffered();
        }

        int sample(byte[] into) {
            ByteBuffer to = ByteBuffer.wrap(into);
            for (Piece piece : pieces) {
                if (piece.bytes() == null) {
                    return to.position(); // what follows is in the overflow file
                }
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
            if (sequential) {
                drainAll();
                shrink();
            }
            if (sequential && room != null) {
                Room rest = room;
                seal();
                carried = rest.buffer().hasRemaining() ? rest : null;
            }
        }

        private void makeRoom() throws IOException {
            seal();
            if (carried != null) {
                room = carried;
                carried = null;
            } else {
                room = newRoom(sequential ? sequentialChunk : nextChunk);
                sequentialChunk = Math.min(sequentialChunk * 4, LARGE_CHUNK);
                nextChunk = Math.min(nextChunk * 4, Math.max(store.chunkBytes(), FIRST_CHUNK));
            }
            start = room.buffer().position();
        }

        /** Ends the piece in the current room. */
        private void seal() {
            if (room != null && room.buffer().position() > start) {
                int size = room.buffer().position() - start;
                pieces.add(new Piece(room.chunk(), room.buffer().duplicate().flip().slice(start, size), start, size));
            }
            room = null;
        }

        /** Ends a partition: what is left in heap memory goes to its own chunk if that has space. */
        private void finish() throws IOException {
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

        /** Adds bytes that go to disk, in their order. */
        private void addToSum(ByteBuffer bytes) {
            sum = sum == null ? store.files().checksum() : sum;
            if (sum != null) {
                sum.update(bytes.duplicate());
            }
        }

        private int packable() {
            return buffered() + (wastesChunk() ? last().length() : 0);
        }

        /** Moves the packable bytes into a shared room; returns the chunk that is empty now, or null. */
        private SlabPool.Chunk pack(Room shared) throws IOException {
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
    }

    private Room newRoom(int bytes) throws IOException {
        SlabPool.Chunk chunk = store.allocate(bytes);
        if (chunk == null && heldBytes >= OVERFLOW_UNIT) {
            overflow();
            chunk = store.allocate(bytes);
        }
        if (chunk == null) {
            heldBytes += HEAP_CHUNK;
            return new Room(null, ByteBuffer.allocate(HEAP_CHUNK));
        }
        chunks.add(chunk);
        heldBytes += chunk.capacity();
        return new Room(chunk, chunk.buffer());
    }

    /** Moves all that is held to the overflow file. */
    private void overflow() throws IOException {
        if (overflow == null) {
            overflowFile = store.files().temporary(shuffleId, mapId);
            overflow = FileChannel.open(overflowFile.toPath(), StandardOpenOption.CREATE_NEW,
                StandardOpenOption.READ, StandardOpenOption.WRITE);
        }
        for (PartitionStream partition : partitions) {
            if (partition == null) {
                continue;
            }
            partition.seal();
            for (int i = 0; i < partition.pieces.size(); i++) {
                Piece piece = partition.pieces.get(i);
                if (piece.bytes() != null) {
                    long at = overflow.position();
                    partition.addToSum(piece.bytes());
                    SpillToFiles.drain(piece.bytes(), overflow);
                    partition.pieces.set(i, new Piece(null, null, at, piece.length()));
                }
            }
        }
        carried = null;
        chunks.forEach(SlabPool.Chunk::release);
        chunks.clear();
        heldBytes = 0;
    }

    /**
     * Publishes the output, in slabs or as Spark's files.
     *
     * @return bytes of each partition
     * @throws IOException when neither slabs nor disk can hold it; the output is then aborted
     */
    public long[] commit() throws IOException {
        boolean done = false;
        try {
            for (PartitionStream partition : partitions) {
                if (partition != null) {
                    partition.finish();
                }
            }
            carried = null;
            long[] lengths = overflow == null && allInChunks() ? commitSlabs() : null;
            if (lengths == null) {
                lengths = commitFiles();
            }
            done = true;
            return lengths;
        } finally {
            if (!done) {
                abort();
            }
        }
    }

    private boolean allInChunks() {
        for (PartitionStream partition : partitions) {
            if (partition != null && partition.pieces.stream().anyMatch(piece -> piece.chunk() == null)) {
                return false;
            }
        }
        return true;
    }

    /** Null when there is no slab memory for the last pieces or the index, or no way to publish it. */
    private long[] commitSlabs() throws IOException {
        if (!packTails()) {
            return null;
        }
        int count = 0;
        for (PartitionStream partition : partitions) {
            count += partition == null ? 0 : partition.pieces.size();
        }
        int[] sums = new int[store.checksums() ? partitions.length : 0];
        int bytes = Math.toIntExact(MapIndex.bytes(partitions.length, count, sums.length));
        SlabPool.Chunk indexChunk = store.allocate(bytes);
        if (indexChunk == null) {
            return null;
        }
        int[] first = new int[partitions.length + 1];
        int[] triples = new int[3 * count];
        long[] lengths = new long[partitions.length];
        long sum = 0;
        int at = 0;
        for (int p = 0; p < partitions.length; p++) {
            first[p] = at;
            lengths[p] = length(p);
            sum += lengths[p];
            List<Piece> pieces = partitions[p] == null ? List.of() : partitions[p].pieces;
            for (Piece piece : pieces) {
                triples[3 * at] = piece.chunk().slab();
                triples[3 * at + 1] = piece.chunk().offset() + (int) piece.fileOffset();
                triples[3 * at + 2] = piece.length();
                at++;
            }
            if (sums.length > 0) {
                sums[p] = MapIndex.sum(pieces.stream().map(piece -> piece.bytes().duplicate()).toArray(ByteBuffer[]::new));
            }
        }
        first[partitions.length] = at;
        try {
            store.publish(shuffleId, mapId, sum, first, triples, sums, indexChunk, List.copyOf(chunks));
        } catch (IOException e) { // for example no more inodes: files need none there
            LOG.warn("map output {} of shuffle {} goes to disk: {}", mapId, shuffleId, e.getMessage());
            indexChunk.release();
            return null;
        }
        ended = true;
        return lengths;
    }

    /**
     * Moves what is still in heap memory, and pieces that fill less than three quarters of their chunk, into shared
     * chunks: the many tiny blocks of a wide shuffle would otherwise waste most of the budget.
     *
     * @return false when there is no slab memory for them
     */
    private boolean packTails() throws IOException {
        long need = 0;
        for (PartitionStream partition : partitions) {
            need += partition == null ? 0 : partition.packable();
        }
        List<SlabPool.Chunk> emptied = new ArrayList<>();
        Room shared = null;
        for (PartitionStream partition : partitions) {
            int bytes = partition == null ? 0 : partition.packable();
            if (bytes == 0) {
                continue;
            }
            if (shared == null || shared.buffer().remaining() < bytes) {
                SlabPool.Chunk chunk = store.allocate((int) Math.max(bytes, Math.min(need, LARGE_CHUNK)));
                if (chunk == null) {
                    return false;
                }
                chunks.add(chunk);
                shared = new Room(chunk, chunk.buffer());
            }
            SlabPool.Chunk empty = partition.pack(shared);
            if (empty != null) {
                emptied.add(empty);
            }
            need -= bytes;
        }
        for (SlabPool.Chunk chunk : emptied) {
            chunks.remove(chunk);
            chunk.release();
        }
        return true;
    }

    private long[] commitFiles() throws IOException {
        long[] lengths = SpillToFiles.write(shuffleId, mapId, partitions.length, store.files(), new InOrder());
        long sum = 0;
        for (long length : lengths) {
            sum += length;
        }
        store.publishedFiles(shuffleId, mapId, sum);
        abort();
        return lengths;
    }

    /** All partitions, from memory and from the overflow file. */
    private final class InOrder implements SpillToFiles.Source {
        @Override
        public long write(int number, FileChannel to) throws IOException {
            PartitionStream partition = partitions[number];
            long sum = 0;
            if (partition == null) {
                return sum;
            }
            for (Piece piece : partition.pieces) {
                if (piece.bytes() != null) {
                    partition.addToSum(piece.bytes());
                    SpillToFiles.drain(piece.bytes().duplicate(), to);
                } else {
                    copyOverflow(piece, to);
                }
                sum += piece.length();
            }
            ByteBuffer rest = partition.rest();
            partition.addToSum(rest);
            return sum + SpillToFiles.drain(rest, to);
        }

        private void copyOverflow(Piece piece, FileChannel to) throws IOException {
            long at = piece.fileOffset();
            long end = at + piece.length();
            while (at < end) {
                at += overflow.transferTo(at, end - at, to);
            }
        }

        @Override
        public long sum(int partition) {
            Checksum sum = partitions[partition] == null ? null : partitions[partition].sum;
            return (sum == null ? store.files().checksum() : sum).getValue();
        }
    }

    /** Gives everything back. Idempotent; does nothing after a commit. */
    public void abort() {
        if (ended) {
            return;
        }
        ended = true;
        chunks.forEach(SlabPool.Chunk::release);
        chunks.clear();
        try {
            if (overflow != null) {
                overflow.close();
                Files.deleteIfExists(overflowFile.toPath());
            }
        } catch (IOException e) {
            overflowFile.deleteOnExit();
        }
    }
}
