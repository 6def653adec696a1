// SPDX-License-Identifier: Apache-2.0
// A map output while its task writes it: every partition grows piece by piece in slab chunks.
package org.verbena.spark.store;

import java.io.IOException;
import java.io.OutputStream;
import java.util.Arrays;
import java.util.Comparator;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import org.verbena.core.SlabPool;

/**
 * Any number of partitions may be open at once (the hash writer) or one after the other (Spark's sorters); in the second
 * case a partition goes on in the chunk where the one before ended. When the budget is exhausted, a part of it moves to
 * a temporary file and the output ends as Spark's own file pair. Belongs to the task's thread. Must be ended by
 * {@link #commit} or {@link #abort}.
 */
public final class OutputBuffer {
    /** Each partition takes a quarter of a kilobyte of heap while the output is written, of which nobody else knows. */
    public static final int MOST_PARTITIONS = 1 << 17;

    private final SlabStore store;
    private final int shuffleId;
    private final long mapId;
    private final PartitionStream[] partitions;
    private final Rooms rooms;
    private OverflowFile overflow;
    private long overflowBytes;
    private boolean ended;

    OutputBuffer(SlabStore store, int shuffleId, long mapId, int partitions) {
        this.store = store;
        this.shuffleId = shuffleId;
        this.mapId = mapId;
        this.partitions = new PartitionStream[partitions];
        this.rooms = new Rooms(store, this::overflow);
    }

    /**
     * The stream of one partition; made at the first call.
     *
     * @param sequential whether partitions are written one after the other, each closed before the next
     */
    public OutputStream stream(int partition, boolean sequential) {
        if (partitions[partition] == null) {
            partitions[partition] = new PartitionStream(sequential, rooms, store.files());
        }
        return partitions[partition];
    }

    /** Bytes of a partition so far. */
    public long length(int partition) {
        return partitions[partition] == null ? 0 : partitions[partition].length();
    }

    /** Bytes that went to a temporary file because memory was full, which are written twice. */
    public long overflowBytes() {
        return overflowBytes;
    }

    /** Bytes of the temporary file, where they may be compressed. */
    public long overflowFileBytes() {
        return overflow == null ? 0 : overflow.bytes();
    }

    /**
     * Copies the first of a partition's bytes that are in memory; before {@link #commit}.
     *
     * @return how many
     */
    public int sample(int partition, byte[] into) {
        return partitions[partition] == null ? 0 : partitions[partition].sample(into);
    }

    /**
     * Moves whole partitions to the overflow file, the largest first: these bytes will be read and written once more, so
     * they shall be few, and lie in long pieces.
     *
     * @param bytes how many at least
     */
    private void overflow(long bytes) throws IOException {
        if (overflow == null) {
            overflow = new OverflowFile(store.files().temporary(shuffleId, mapId), judged());
        }
        List<PartitionStream> largest = Arrays.stream(partitions).filter(partition -> partition != null)
            .sorted(Comparator.comparingLong(PartitionStream::inMemory).reversed()).toList();
        long moved = 0;
        int next = 0;
        while (next < largest.size() && moved < bytes) {
            moved += largest.get(next++).overflow(overflow);
        }
        overflowBytes += moved;
        Set<SlabPool.Chunk> used = new HashSet<>();
        largest.forEach(partition -> partition.addChunks(used));
        rooms.keep(used, pieces());
    }

    /** Pieces of all partitions that are in memory. */
    int pieces() {
        int pieces = 0;
        for (PartitionStream partition : partitions) {
            pieces += partition == null ? 0 : partition.pieces().size();
        }
        return pieces;
    }

    /**
     * Publishes the output, in slabs or as Spark's files.
     *
     * @return bytes of each partition
     * @throws IOException when neither slabs nor disk can hold it; the output is then aborted
     */
    public long[] commit() throws IOException {
        try {
            for (PartitionStream partition : partitions) {
                if (partition != null) {
                    partition.finish();
                }
            }
            rooms.finish();
            long[] lengths = new long[partitions.length];
            Arrays.setAll(lengths, this::length);
            long bytes = Arrays.stream(lengths).sum();
            if (overflow == null && new SlabCommit(store, rooms, Arrays.asList(partitions)).publish(shuffleId, mapId, bytes)) {
                ended = true;
                return lengths;
            }
            long[] written = SpillToFiles.write(shuffleId, mapId, partitions.length, store.files(), new InOrder());
            store.publishedFiles(shuffleId, mapId, bytes);
            return written;
        } finally {
            abort();
        }
    }

    /** How to compress, if that pays. */
    private Packing judged() throws IOException {
        return Packing.orNull(store.files().packing(), this::sample);
    }

    /** Of the largest partition that has bytes in memory. */
    private int sample(byte[] into) {
        return Arrays.stream(partitions).filter(partition -> partition != null)
            .sorted(Comparator.comparingLong(PartitionStream::length).reversed())
            .mapToInt(partition -> partition.sample(into)).filter(bytes -> bytes > 0).findFirst().orElse(0);
    }

    /** All partitions, from memory and from the overflow file. */
    private final class InOrder implements SpillToFiles.Source {
        @Override
        public Packing packing() throws IOException {
            return overflow == null ? judged() : overflow.packing();
        }

        @Override
        public long write(int partition, FileSink to) throws IOException {
            return partitions[partition] == null ? 0 : partitions[partition].write(to, overflow);
        }

        @Override
        public long sum(int partition) {
            return partitions[partition] == null ? store.files().checksum().getValue() : partitions[partition].sum();
        }
    }

    /** Gives everything back. Idempotent; does nothing after a commit. */
    public void abort() {
        if (ended) {
            return;
        }
        ended = true;
        rooms.release();
        if (overflow != null) {
            overflow.close();
        }
    }
}
