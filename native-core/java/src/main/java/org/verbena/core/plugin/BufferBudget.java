// SPDX-License-Identifier: Apache-2.0
// Direct buffers of many holders, and one bound for all of them.
package org.verbena.core.plugin;

import java.nio.ByteBuffer;
import java.util.function.IntFunction;

/**
 * Holders that keep what they have leave some for the others. Each has a least, which it always gets. Half of the bound, or what
 * all leasts leave of it where that is less, is for those that want more: beside n others that have more, a holder may have so
 * much more as a part of 1 / (8 + n) of what is free then. So n holders that keep all they got leave 8 / (8 + n).
 *
 * <p>All together hold at most the bound, where all leasts are at most half of it; else at most all leasts and half of the bound.
 * Thread safe; nothing waits here: who gets nothing beyond its least has something to give back first.
 */
public final class BufferBudget {
    private static final int PART = 8;

    private final IntFunction<ByteBuffer> allocator;
    private final long lendable;
    private final BufferPool buffers;
    /** Less, since the JVM had no more. */
    private long bound;
    /** The leasts of all shares. */
    private long reserved;
    /** What shares hold beyond their leasts, and what is lent. */
    private long beyond;
    /** How many of them hold more than their least. */
    private int greedy;
    private long used;
    private long lent;

    /**
     * Makes an empty one.
     *
     * @param bound most bytes of all holders, of buffers that are kept for the next user and of what is lent
     * @param kept most bytes of buffers that are kept
     * @param lendable most bytes of what is lent
     */
    public BufferBudget(long bound, long kept, long lendable) {
        this(bound, kept, lendable, ByteBuffer::allocateDirect);
    }

    BufferBudget(long bound, long kept, long lendable, IntFunction<ByteBuffer> allocator) {
        this.allocator = allocator;
        this.bound = bound;
        this.lendable = lendable;
        this.buffers = new BufferPool(kept);
    }

    /**
     * Adds a holder.
     *
     * @param least bytes that it always gets
     * @return its share, to be closed
     */
    public synchronized Share share(int least) {
        reserved += least;
        return new Share(least);
    }

    /**
     * Counts other memory, which is shared by holders.
     *
     * @param bytes how many; negative: they are given back
     * @return false when there are not as many, and nothing has changed
     */
    public synchronized boolean lend(long bytes) {
        if (bytes > 0 && (lent + bytes > lendable || bytes > free())) {
            return false;
        }
        lent += bytes;
        beyond += bytes;
        return true;
    }

    /** Under the lock: of what is for those that want more. */
    private long free() {
        return Math.max(0, Math.min(bound / 2, bound - reserved) - beyond);
    }

    /** Bytes of buffers that holders have, and of what is lent. */
    public synchronized long used() {
        return used + lent;
    }

    /** Bytes of buffers that are kept for the next user. */
    public synchronized long kept() {
        return buffers.kept();
    }

    /** Bytes that holders get in any case, whether they have taken them or not. */
    public synchronized long reserved() {
        return reserved;
    }

    /** Most bytes. */
    public synchronized long bound() {
        return bound;
    }

    /** What one holder has. Its buffers may be given back after {@link #close}. */
    public final class Share implements AutoCloseable {
        private long least;
        private long held;

        private Share(long least) {
            this.least = least;
        }

        /**
         * Takes a buffer.
         *
         * @param bytes its limit; position 0, arbitrary content
         * @return a direct buffer, to be given back once; null when there is no memory for it now
         * @throws OutOfMemoryError when the JVM has no direct memory left (-XX:MaxDirectMemorySize), and this holder has nothing
         *     whose return it could wait for
         */
        public ByteBuffer take(int bytes) {
            return take(bytes, false);
        }

        /**
         * As {@link #take}, but as many bytes as there are memory for, if they are fewer.
         *
         * @param bytes its limit at most
         * @return a direct buffer, to be given back once; null when there is no memory now
         */
        public ByteBuffer takeUpTo(int bytes) {
            synchronized (BufferBudget.this) {
                if (!admits(BufferPool.size(bytes))) {
                    int most = BufferPool.floor(most() - held);
                    return most == 0 ? null : take(Math.min(bytes, most), false);
                }
            }
            return take(bytes, false);
        }

        /**
         * Takes a buffer for bytes that have come already, whether there is memory for it or not.
         *
         * @param bytes its limit; position 0, arbitrary content
         * @return a direct buffer, to be given back once
         */
        public ByteBuffer force(int bytes) {
            return take(bytes, true);
        }

        private ByteBuffer take(int bytes, boolean force) {
            int size = BufferPool.size(bytes);
            synchronized (BufferBudget.this) {
                if (!force && !admits(size)) {
                    return null;
                }
                hold(size);
                ByteBuffer found = buffers.poll(bytes);
                if (found != null) {
                    return found;
                }
                buffers.drop(used + lent + buffers.kept() - bound); // buffers of other sizes
            }
            try {
                return allocator.apply(size).limit(bytes);
            } catch (OutOfMemoryError e) {
                if (!waits(size) || force) {
                    throw e;
                }
                return null;
            }
        }

        /** The JVM does not give so many bytes. True when something that this holder has will come back. */
        private boolean waits(int size) {
            synchronized (BufferBudget.this) {
                hold(-size);
                bound = Math.min(bound, used + lent);
                return held > 0;
            }
        }

        /** Under the lock. */
        private boolean admits(int size) {
            return held + size <= most();
        }

        /** Under the lock: what it may have now. */
        private long most() {
            return least + free() / (PART + greedy - (held > least ? 1 : 0));
        }

        /** Under the lock. */
        private void hold(long more) {
            count(-1);
            held += more;
            used += more;
            count(1);
        }

        /** Under the lock: takes it into what all hold beyond their leasts, or (-1) out of it. */
        private void count(int sign) {
            if (held > least) {
                beyond += sign * (held - least);
                greedy += sign;
            }
        }

        /**
         * Gives a buffer back that nobody uses any more.
         *
         * @param buffer what was taken, or a duplicate of it
         */
        public void give(ByteBuffer buffer) {
            synchronized (BufferBudget.this) {
                hold(-buffer.capacity());
                buffers.give(buffer);
            }
        }

        /** Bytes of buffers that it has. */
        public long held() {
            synchronized (BufferBudget.this) {
                return held;
            }
        }

        /** Bytes that it gets in one buffer whatever others take. */
        public int certain() {
            synchronized (BufferBudget.this) {
                return BufferPool.floor(least - held);
            }
        }

        /** The holder ends: it has no least any more. Idempotent. */
        @Override
        public void close() {
            synchronized (BufferBudget.this) {
                count(-1);
                reserved -= least;
                least = 0;
                count(1);
            }
        }
    }
}
