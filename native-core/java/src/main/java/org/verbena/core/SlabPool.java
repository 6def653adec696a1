// SPDX-License-Identifier: Apache-2.0
package org.verbena.core;

import java.nio.ByteBuffer;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

/**
 * A bounded store of equal slabs of shareable memory, from which chunks of any size up to a slab are allocated. Thread
 * safe. Slabs are added as needed, up to the budget, and stay until the pool is closed or they are {@link #trim trimmed};
 * freed chunks are used again, never zeroed.
 */
public final class SlabPool implements AutoCloseable {
    private static final int ALIGNMENT = 64;
    /** How long a failed allocation of a slab is remembered: meanwhile the pool does not try again. */
    private static final long FULL_NANOS = 10_000_000_000L;

    private final VbnContext context;
    private final Path directory;
    private final int slabBytes;
    private volatile long budgetBytes;
    /** Guards the free lists and all fields below; taken after growLock. */
    private final Object lock = new Object();
    /** Held while a slab is allocated, which takes milliseconds. */
    private final Object growLock = new Object();
    private final List<Slab> slabs = new ArrayList<>();
    private long usedBytes;
    private int liveChunks;
    private int firstToTry;
    private int nextNumber;
    private long fullSince;
    private boolean full;
    private boolean warned;
    private boolean closed;

    private SlabPool(VbnContext context, Path directory, int slabBytes, long budgetBytes) {
        if (slabBytes < 4096 || slabBytes % 4096 != 0) {
            throw new IllegalArgumentException("slab of " + slabBytes + " bytes: give a positive multiple of 4096");
        }
        this.context = context;
        this.directory = directory;
        this.slabBytes = slabBytes;
        this.budgetBytes = budgetBytes;
    }

    /**
     * Makes a pool whose slabs are files {@code privateDir/slab-<n>}, which other processes of this user can map with
     * {@link VbnContext#openFile}.
     *
     * @param context the memory's context
     * @param privateDir an existing directory, mode 0700 and ours, best on tmpfs
     * @param slabBytes size of a slab, a multiple of 4096
     * @param budgetBytes most bytes of all slabs together
     * @return an empty pool, to be closed before the context
     */
    public static SlabPool files(VbnContext context, Path privateDir, int slabBytes, long budgetBytes) {
        return new SlabPool(context, privateDir.toAbsolutePath(), slabBytes, budgetBytes);
    }

    /**
     * Makes a pool whose slabs are anonymous memory, which peers reach by keys.
     *
     * @param context the memory's context
     * @param slabBytes size of a slab, a multiple of 4096
     * @param budgetBytes most bytes of all slabs together
     * @return an empty pool, to be closed before the context
     */
    public static SlabPool anonymous(VbnContext context, int slabBytes, long budgetBytes) {
        return new SlabPool(context, null, slabBytes, budgetBytes);
    }

    /**
     * Allocates a chunk. Never waits for memory to be freed.
     *
     * @param bytes its size, 1 to the size of a slab
     * @return a chunk with one reference, its capacity rounded up to 64 bytes; null when the budget or tmpfs is
     *     exhausted (the latter is logged once and tried again at most every 10 s) or the pool is closed
     */
    public Chunk allocate(int bytes) {
        if (bytes <= 0 || bytes > slabBytes) {
            throw new IllegalArgumentException("chunk of " + bytes + " bytes from slabs of " + slabBytes);
        }
        int rounded = (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
        Chunk chunk = fromFreeList(rounded);
        if (chunk == null) {
            synchronized (growLock) {
                chunk = fromFreeList(rounded); // another thread may have grown the pool meanwhile
                if (chunk == null && grow()) {
                    chunk = fromFreeList(rounded);
                }
            }
        }
        return chunk;
    }

    private Chunk fromFreeList(int bytes) {
        synchronized (lock) {
            for (int i = 0; i < slabs.size() && !closed; i++) {
                int index = (firstToTry + i) % slabs.size();
                Slab slab = slabs.get(index);
                int offset = slab.free.take(bytes);
                if (offset >= 0) {
                    firstToTry = index;
                    usedBytes += bytes;
                    liveChunks++;
                    slab.liveChunks++;
                    return new Chunk(this, slab, offset, bytes);
                }
            }
            return null;
        }
    }

    private boolean grow() {
        int number;
        synchronized (lock) {
            boolean recentlyFull = full && System.nanoTime() - fullSince < FULL_NANOS;
            if (closed || recentlyFull || (slabs.size() + 1L) * slabBytes > budgetBytes) {
                return false;
            }
            number = nextNumber;
        }
        VbnMemory memory;
        try {
            memory = directory == null ? context.allocate(slabBytes)
                : context.allocateFile(slabBytes, directory.resolve("slab-" + number));
        } catch (VbnException e) {
            rememberFull(e);
            return false;
        }
        synchronized (lock) {
            full = false;
            if (!closed) {
                nextNumber++;
                firstToTry = slabs.size();
                slabs.add(new Slab(number, memory, slabBytes));
                return true;
            }
        }
        memory.close();
        return false;
    }

    private void rememberFull(VbnException cause) {
        boolean first;
        synchronized (lock) {
            full = true;
            fullSince = System.nanoTime();
            first = !warned;
            warned = true;
        }
        if (first) {
            context.log(VbnLog.WARN, "slab pool cannot grow beyond " + reservedBytes() + " of " + budgetBytes
                + " bytes: " + cause.getMessage());
        }
    }

    /**
     * Gives slabs back to the system in which there is no chunk, and has been none for a while. Their files go, and so do their
     * pages, also where others have them mapped ({@link VbnMemory#discard}).
     *
     * @param idleNanos that a slab was without a chunk
     * @return their numbers, which no other slab of this pool will have
     */
    public List<Integer> trim(long idleNanos) {
        List<Slab> idle = new ArrayList<>();
        synchronized (lock) {
            long now = System.nanoTime();
            for (Slab slab : closed ? List.<Slab>of() : slabs) {
                if (slab.liveChunks == 0 && now - slab.idleSince >= idleNanos) {
                    idle.add(slab);
                }
            }
            slabs.removeAll(idle);
            firstToTry = 0;
        }
        idle.forEach(slab -> slab.memory.discard());
        return idle.stream().map(slab -> slab.number).toList();
    }

    private void release(Chunk chunk) {
        synchronized (lock) {
            liveChunks--;
            usedBytes -= chunk.capacity;
            if (--chunk.slab.liveChunks == 0) {
                chunk.slab.idleSince = System.nanoTime();
            }
            if (!closed) {
                chunk.slab.free.give(chunk.offset, chunk.capacity);
            }
        }
    }

    private void shrink(Chunk chunk, int bytes) {
        int rounded = (Math.max(1, bytes) + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
        synchronized (lock) {
            int rest = chunk.capacity - rounded;
            if (rest > 0) {
                chunk.capacity = rounded;
                usedBytes -= rest;
                if (!closed) {
                    chunk.slab.free.give(chunk.offset + rounded, rest);
                }
            }
        }
    }

    /** Returns the bytes of all chunks that are allocated. */
    public long usedBytes() {
        synchronized (lock) {
            return usedBytes;
        }
    }

    /** Returns the bytes of all slabs. */
    public long reservedBytes() {
        synchronized (lock) {
            return (long) slabs.size() * slabBytes;
        }
    }

    /** Returns the most bytes that slabs may have together. */
    public long budgetBytes() {
        return budgetBytes;
    }

    /**
     * Changes the budget. Slabs that exist stay; new ones are added only within it.
     *
     * @param bytes most bytes that slabs may have together from now on
     */
    public void setBudgetBytes(long bytes) {
        budgetBytes = bytes;
    }

    /** Returns the number of slabs. */
    public int slabs() {
        synchronized (lock) {
            return slabs.size();
        }
    }

    /** Closes all slabs (their files go at once); chunks still allocated count as leaked and are logged. Idempotent. */
    @Override
    public void close() {
        int left;
        synchronized (lock) {
            if (closed) {
                return;
            }
            closed = true;
            left = liveChunks;
        }
        for (Slab slab : slabs) {
            slab.memory.close();
        }
        synchronized (lock) {
            slabs.clear();
        }
        if (left > 0) {
            context.leaked(left, "slab pool closed with " + left + " chunks still in use");
        }
    }

    private static final class Slab {
        final int number;
        final VbnMemory memory;
        final FreeList free;
        int liveChunks;
        long idleSince = System.nanoTime();

        Slab(int number, VbnMemory memory, int bytes) {
            this.number = number;
            this.memory = memory;
            free = new FreeList(bytes);
        }
    }

    /** A piece of a slab with a reference count. Thread safe, as far as the bytes are not concerned. */
    public static final class Chunk {
        private final SlabPool pool;
        private final Slab slab;
        private final int offset;
        private volatile int capacity; // written under the pool's lock
        private final ReferenceCount references = new ReferenceCount();

        private Chunk(SlabPool pool, Slab slab, int offset, int capacity) {
            this.pool = pool;
            this.slab = slab;
            this.offset = offset;
            this.capacity = capacity;
        }

        /** Returns the number n of its slab; the file is {@code slab-<n>}. */
        public int slab() {
            return slab.number;
        }

        /** Returns its first byte in the slab. */
        public int offset() {
            return offset;
        }

        /** Returns its bytes. */
        public int capacity() {
            return capacity;
        }

        /**
         * Makes a view, native byte order. After the last release its bytes may belong to another chunk.
         *
         * @throws IllegalStateException when the chunk is released or the pool is closed
         */
        public ByteBuffer buffer() {
            if (!references.isLive()) {
                throw new IllegalStateException("the chunk is released");
            }
            return slab.memory.slice(offset, capacity);
        }

        /**
         * Gives the end back, for which there is no use. The caller holds the only reference, and no view of the end.
         *
         * @param bytes to keep, at least 1 and rounded up to 64 bytes; more than its capacity changes nothing
         * @throws IllegalStateException when the chunk is released
         */
        public void shrink(int bytes) {
            if (!references.isLive()) {
                throw new IllegalStateException("the chunk is released");
            }
            pool.shrink(this, bytes);
        }

        /** Returns the memory of its slab. */
        public VbnMemory memory() {
            return slab.memory;
        }

        /**
         * Takes another reference.
         *
         * @throws IllegalStateException when the chunk is released
         */
        public void retain() {
            if (!references.retain()) {
                throw new IllegalStateException("the chunk is released");
            }
        }

        /**
         * Drops a reference; with the last one the chunk returns to the pool.
         *
         * @throws IllegalStateException when the chunk is released already
         */
        public void release() {
            int left = references.release();
            if (left < 0) {
                throw new IllegalStateException("the chunk is released already");
            }
            if (left == 0) {
                pool.release(this);
            }
        }
    }
}
