// SPDX-License-Identifier: Apache-2.0
// Publishes a map output that is in slabs.
package org.verbena.spark.store;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.verbena.core.SlabPool;

/** Packs what wastes memory, writes the index, hands both to the store. Belongs to the task's thread. */
final class SlabCommit {
    private static final Logger LOG = LoggerFactory.getLogger(SlabCommit.class);

    private final SlabStore store;
    private final Rooms rooms;
    private final List<PartitionStream> partitions;

    /** Partitions that have no bytes are null. */
    SlabCommit(SlabStore store, Rooms rooms, List<PartitionStream> partitions) {
        this.store = store;
        this.rooms = rooms;
        this.partitions = partitions;
    }

    /** False when there is no slab memory for the last pieces or the index, or no way to publish it. */
    boolean publish(int shuffleId, long mapId, long bytes) throws IOException {
        if (!partitions.stream().allMatch(partition -> partition == null || partition.isInChunks()) || !packTails()) {
            return false;
        }
        int count = partitions.stream().mapToInt(partition -> pieces(partition).size()).sum();
        int[] sums = sums();
        SlabPool.Chunk index = store.allocate(Math.toIntExact(MapIndex.bytes(partitions.size(), count, sums.length)));
        if (index == null) {
            return false;
        }
        int[] first = new int[partitions.size() + 1];
        int[] triples = triples(first, count);
        try {
            store.publish(shuffleId, mapId, bytes, first, triples, sums, index, rooms.chunks());
            return true;
        } catch (IOException e) { // for example no more inodes: files need none there
            LOG.warn("map output {} of shuffle {} goes to disk: {}", mapId, shuffleId, e.getMessage());
            index.release();
            return false;
        }
    }

    private static List<Piece> pieces(PartitionStream partition) {
        return partition == null ? List.of() : partition.pieces();
    }

    /** Slab, offset and length of each piece; fills in with which one each partition begins. */
    private int[] triples(int[] first, int count) {
        int[] triples = new int[3 * count];
        int at = 0;
        for (int p = 0; p < partitions.size(); p++) {
            first[p] = at;
            for (Piece piece : pieces(partitions.get(p))) {
                triples[3 * at] = piece.chunk().slab();
                triples[3 * at + 1] = piece.chunk().offset() + (int) piece.offset();
                triples[3 * at + 2] = piece.length();
                at++;
            }
        }
        first[partitions.size()] = at;
        return triples;
    }

    /** Of each partition; none without checksums. */
    private int[] sums() {
        int[] sums = new int[store.checksums() ? partitions.size() : 0];
        for (int p = 0; p < sums.length; p++) {
            sums[p] = MapIndex.sum(pieces(partitions.get(p)).stream().map(piece -> piece.bytes().duplicate())
                .toArray(ByteBuffer[]::new));
        }
        return sums;
    }

    /**
     * Moves what is still in heap memory, and pieces that fill less than three quarters of their chunk, into shared
     * chunks: the many tiny blocks of a wide shuffle would otherwise waste most of the budget.
     *
     * @return false when there is no slab memory for them
     */
    private boolean packTails() throws IOException {
        List<PartitionStream> tails = partitions.stream().filter(partition -> partition != null && partition.packable() > 0)
            .toList();
        long need = tails.stream().mapToLong(PartitionStream::packable).sum();
        List<SlabPool.Chunk> emptied = new ArrayList<>();
        Room shared = null;
        for (PartitionStream partition : tails) {
            int bytes = partition.packable();
            if (shared == null || shared.buffer().remaining() < bytes) {
                trim(shared);
                shared = rooms.shared((int) Math.max(bytes, Math.min(need, Rooms.LARGE_CHUNK)));
            }
            if (shared == null) {
                return false;
            }
            SlabPool.Chunk empty = partition.pack(shared);
            if (empty != null) {
                emptied.add(empty);
            }
            need -= bytes;
        }
        trim(shared);
        emptied.forEach(rooms::release);
        return true;
    }

    private static void trim(Room room) {
        if (room != null) {
            Rooms.trim(room);
        }
    }
}
