// SPDX-License-Identifier: Apache-2.0
// How many bytes of buffers the fetches of an executor need, and never more than its JVM may have.
package org.verbena.spark.read;

/**
 * Bounds in bytes, which the memory of the executor's container has to hold.
 *
 * @param blocks for the blocks that come
 * @param replies for the parts of replies that are copied
 * @param lists for the names of blocks that are asked for, in each direction
 * @param cut whether the JVM has too little direct memory for the blocks that tasks ask for
 */
public record BufferBounds(long blocks, long replies, long lists, boolean cut) {
    private static final long LEAST_BLOCKS = 128L << 20;
    private static final long REPLIES = 48L << 20;
    private static final long LISTS = 8L << 20;
    private static final long LEAST = 1L << 20;

    /**
     * The bounds of an executor. A task has at most spark.reducer.maxSizeInFlight of blocks that it has asked for and not read;
     * a quarter more, because sizes of buffers go up in steps of a quarter.
     *
     * @param slots tasks that run at a time
     * @param inFlight spark.reducer.maxSizeInFlight in bytes
     * @param direct direct memory that the JVM may have; blocks get half of it at most, replies an eighth, lists two 32nds
     */
    public static BufferBounds of(int slots, long inFlight, long direct) {
        long wanted = Math.max(LEAST_BLOCKS, (long) ((double) slots * inFlight / 4 * 5));
        return new BufferBounds(least(wanted, direct / 2), least(REPLIES, direct / 8), least(LISTS, direct / 32),
            direct / 2 < wanted);
    }

    private static long least(long wanted, long allowed) {
        return Math.max(LEAST, Math.min(wanted, allowed));
    }

    /** What gives the blocks that come more memory. */
    String cure() {
        return cut ? "raise -XX:MaxDirectMemorySize or spark.executor.memory"
            : "raise spark.reducer.maxSizeInFlight, and spark.executor.memoryOverhead with it";
    }

    /** Most bytes of all buffers. */
    public long sum() {
        return blocks + replies + 2 * lists;
    }
}
