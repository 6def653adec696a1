// SPDX-License-Identifier: Apache-2.0
// The index of one map output as it lies in a slab: which pieces of which slabs make up each partition.
package org.verbena.spark.store;

import java.io.IOException;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.ArrayList;
import java.util.List;
import java.util.function.IntFunction;
import java.util.zip.CRC32C;

/**
 * Reads (and, for the owner, writes) an index. Layout in native byte order:
 *
 * <pre>
 * 0  long  generation     random, never 0; 0 = the output is gone and its pieces may be reused
 * 8  int   partitions P
 * 12 int   pieces N
 * 16 int   sums           P when partitions have checksums, else 0
 * 20 int   first[P + 1]   first piece of each partition
 * .. int   slab, offset, length   N times
 * .. int   sum[sums]      CRC-32C of each partition
 * </pre>
 *
 * Other processes of the host map the same slabs. They copy bytes out and look at the generation afterwards
 * ({@link #isLive}); the owner clears the generation before it lets go of the pieces ({@link #retire}). Thread safe.
 */
public final class MapIndex {
    private static final VarHandle LONG =
        MethodHandles.byteBufferViewVarHandle(long[].class, ByteOrder.nativeOrder());
    private static final int HEADER = 20;
    private static final int PIECE = 12;

    private final ByteBuffer memory;
    private final long generation;
    private final int partitions;
    private final int pieces;
    private final int sums;
    private final IntFunction<ByteBuffer> slabs;

    private MapIndex(ByteBuffer memory, long generation, IntFunction<ByteBuffer> slabs) {
        this.memory = memory;
        this.generation = generation;
        this.partitions = memory.getInt(8);
        this.pieces = memory.getInt(12);
        this.sums = memory.getInt(16);
        this.slabs = slabs;
    }

    /** A partition whose bytes are not those that the map task wrote. */
    public static final class Damaged extends IOException {
        private static final long serialVersionUID = 1;

        Damaged(int partition, int sum, int wanted) {
            super(String.format("partition %d has the CRC-32C %08x instead of %08x", partition, sum, wanted));
        }
    }

    /** Bytes that an index of so many partitions, pieces and checksums needs. */
    public static long bytes(int partitions, int pieces, int sums) {
        return HEADER + 4L * (partitions + 1) + (long) PIECE * pieces + 4L * sums;
    }

    /**
     * Writes an index and makes it live.
     *
     * @param memory at least {@link #bytes} bytes from position 0, 8-byte aligned
     * @param first partitions + 1 numbers of first pieces
     * @param triples slab, offset and length of every piece
     * @param sums checksums of the partitions, or none
     * @param slabs gives the owner's view of a slab
     */
    static MapIndex write(ByteBuffer memory, long generation, int[] first, int[] triples, int[] sums,
            IntFunction<ByteBuffer> slabs) {
        ByteBuffer out = memory.duplicate().order(ByteOrder.nativeOrder());
        out.clear();
        out.putLong(0, 0).putInt(8, first.length - 1).putInt(12, triples.length / 3).putInt(16, sums.length);
        int at = HEADER;
        for (int[] values : new int[][] {first, triples, sums}) {
            for (int value : values) {
                out.putInt(at, value);
                at += 4;
            }
        }
        // Release: pairs with the acquire in isLive, everything above is visible with the generation.
        LONG.setRelease(out, 0, generation);
        return new MapIndex(out, generation, slabs);
    }

    /**
     * Opens the index of another process; every number in it is checked when it is used.
     *
     * @throws IOException when it is not the index that was published
     */
    static MapIndex open(ByteBuffer memory, long generation, IntFunction<ByteBuffer> slabs) throws IOException {
        ByteBuffer in = memory.duplicate().order(ByteOrder.nativeOrder());
        if (in.capacity() < HEADER + 4 || (long) LONG.getAcquire(in, 0) != generation) {
            throw new IOException("the published index of a map output is gone");
        }
        MapIndex index = new MapIndex(in, generation, slabs);
        if (index.partitions < 0 || index.pieces < 0 || index.sums != 0 && index.sums != index.partitions
                || bytes(index.partitions, index.pieces, index.sums) > in.capacity()) {
            throw new IOException("the published index of a map output is damaged: " + index.partitions
                + " partitions and " + index.pieces + " pieces in " + in.capacity() + " bytes");
        }
        return index;
    }

    /** True while the output's pieces are not reused; to be asked after bytes were copied out. */
    boolean isLive() {
        // The copies before must not move below the check: pairs with retire().
        VarHandle.loadLoadFence();
        return (long) LONG.getAcquire(memory, 0) == generation;
    }

    /** Owner only: from now on other processes see that the output is gone. */
    void retire() {
        LONG.setVolatile(memory, 0, 0L);
        // The zero must be visible before anybody writes into the pieces again.
        VarHandle.fullFence();
    }

    /** Number of partitions. */
    public int partitions() {
        return partitions;
    }

    /** Whether the partitions have checksums. */
    public boolean hasSums() {
        return sums > 0;
    }

    /** Bytes of the partitions start (inclusive) to end (exclusive). */
    public long length(int start, int end) throws IOException {
        int from = first(start);
        int to = checkedEnd(from, first(end));
        long sum = 0;
        for (int i = from; i < to; i++) {
            sum += field(i, 2);
        }
        return sum;
    }

    /**
     * Views of the pieces of the partitions start (inclusive) to end (exclusive), in order; neighbours are one view.
     *
     * @return fresh buffers with position 0, native memory; not to be written
     */
    public ByteBuffer[] pieces(int start, int end) throws IOException {
        int from = first(start);
        int to = checkedEnd(from, first(end));
        List<ByteBuffer> result = new ArrayList<>(Math.min(to - from, 16));
        for (int i = from; i < to; ) {
            ByteBuffer slab = slabs.apply(field(i, 0));
            int offset = field(i, 1);
            int length = field(i, 2);
            int next = i + 1;
            while (next < to && field(next, 0) == field(i, 0) && field(next, 1) == offset + length
                    && length <= Integer.MAX_VALUE - field(next, 2)) {
                length += field(next++, 2);
            }
            if (offset < 0 || length < 0 || offset > slab.capacity() - length) {
                throw new IOException("a map output's index points outside its slab");
            }
            result.add(slab.slice(offset, length));
            i = next;
        }
        return result.toArray(ByteBuffer[]::new);
    }

    /**
     * Compares the partitions start (inclusive) to end (exclusive) with their checksums, if there are some.
     *
     * @throws Damaged when one differs while the output is live
     */
    public void verify(int start, int end) throws IOException {
        for (int p = start; sums > 0 && p < end; p++) {
            int sum = sum(pieces(p, p + 1));
            int wanted = memory.getInt((int) bytes(partitions, pieces, 0) + 4 * p);
            if (sum != wanted && isLive()) {
                throw new Damaged(p, sum, wanted);
            }
        }
    }

    /** CRC-32C of buffers; moves their positions. */
    static int sum(ByteBuffer... buffers) {
        CRC32C crc = new CRC32C();
        for (ByteBuffer buffer : buffers) {
            crc.update(buffer);
        }
        return (int) crc.getValue();
    }

    private int first(int partition) throws IOException {
        if (partition < 0 || partition > partitions) {
            throw new IOException("partition " + partition + " of a map output with " + partitions);
        }
        return memory.getInt(HEADER + 4 * partition);
    }

    private int checkedEnd(int from, int to) throws IOException {
        if (from < 0 || to < from || to > pieces) {
            throw new IOException("a map output's index is damaged or gone");
        }
        return to;
    }

    private int field(int piece, int which) {
        return memory.getInt(HEADER + 4 * (partitions + 1) + PIECE * piece + 4 * which);
    }
}
