// SPDX-License-Identifier: Apache-2.0
// Direct buffers that are used again, and never more of them than a bound.
package org.verbena.core.plugin;

import java.nio.ByteBuffer;
import java.util.concurrent.TimeUnit;

/**
 * Allocating direct memory may take half a second, because the JDK collects garbage first, and may fail; therefore an
 * engine's thread asks for a buffer that is {@link #ready}, and another thread {@link #take}s one. When the bound is
 * reached, or the JVM has no more direct memory, takers wait for buffers that are given back; when none is for a while,
 * they get none. Thread safe.
 */
public final class BoundedPool implements AutoCloseable {
    /** How long the JVM is not asked again for memory that it did not have. */
    private static final long JVM_PAUSE_NANOS = TimeUnit.SECONDS.toNanos(10);

    private final BufferPool buffers;
    private final long patienceNanos;
    private final long bound;
    private long out;
    private boolean stalled;
    private long stalledSince;
    private boolean jvmFull;
    private long jvmFullSince;
    private boolean closed;

    /**
     * Makes an empty pool.
     *
     * @param bound most bytes of buffers, those that are kept for the next user included
     * @param maxKept most bytes that are kept
     * @param patienceNanos how long takers wait while no buffer is given back
     */
    public BoundedPool(long bound, long maxKept, long patienceNanos) {
        this.bound = bound;
        this.buffers = new BufferPool(Math.min(bound, maxKept));
        this.patienceNanos = patienceNanos;
    }

    /**
     * Takes a kept buffer; allocates nothing and does not wait.
     *
     * @param bytes its limit; position 0, arbitrary content
     * @return a direct buffer, to be given back once; null when none is kept
     */
    public synchronized ByteBuffer ready(int bytes) {
        ByteBuffer found = closed ? null : buffers.poll(bytes);
        out += found == null ? 0 : found.capacity();
        return found;
    }

    /**
     * Takes a kept buffer or a new one, and waits when there can be none now. Not for an engine's thread.
     *
     * @param bytes its limit; position 0, arbitrary content
     * @return a direct buffer, to be given back once; null when none came free for the pool's patience, when it can never
     *     have so many bytes, when it is closed, or when the thread is interrupted, which stays so
     */
    public ByteBuffer take(int bytes) {
        return take(bytes, true);
    }

    /**
     * As {@link #take}, but does not wait for buffers that others have.
     *
     * @param bytes its limit; position 0, arbitrary content
     * @return a direct buffer, to be given back once; null when there is no memory for it now
     */
    public ByteBuffer tryTake(int bytes) {
        return take(bytes, false);
    }

    private ByteBuffer take(int bytes, boolean mayWait) {
        int size = BufferPool.size(bytes);
        ByteBuffer found = null;
        while (found == null) {
            synchronized (this) {
                found = ready(bytes);
                boolean reserved = found == null && reserve(size);
                if (found == null && !reserved && !(mayWait && await(size))) {
                    return null;
                }
                if (!reserved) {
                    continue;
                }
            }
            found = allocated(size, bytes);
        }
        return found;
    }

    /** Under the lock. */
    private boolean reserve(int size) {
        if (closed || out + size > bound || jvmFull && System.nanoTime() - jvmFullSince < JVM_PAUSE_NANOS) {
            return false;
        }
        buffers.drop(out + size + buffers.kept() - bound); // buffers of other sizes
        out += size;
        return true;
    }

    /** What was reserved; null when the JVM has no such memory. */
    private ByteBuffer allocated(int size, int bytes) {
        try {
            return ByteBuffer.allocateDirect(size).limit(bytes);
        } catch (OutOfMemoryError e) {
            synchronized (this) {
                out -= size;
                jvmFull = true;
                jvmFullSince = System.nanoTime();
            }
            return null;
        }
    }

    /** Under the lock: waits for a change; false when none is to be expected. */
    private boolean await(int size) {
        long now = System.nanoTime();
        if (!stalled) {
            stalled = true;
            stalledSince = now;
        }
        long left = patienceNanos - (now - stalledSince);
        if (closed || size > bound || left <= 0) {
            return false;
        }
        try {
            TimeUnit.NANOSECONDS.timedWait(this, Math.max(left, 1_000_000));
            return true;
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            return false;
        }
    }

    /**
     * Gives a buffer back that nobody uses any more.
     *
     * @param buffer what {@link #take} or {@link #ready} returned, or a duplicate of it
     */
    public synchronized void give(ByteBuffer buffer) {
        out -= buffer.capacity();
        buffers.give(buffer);
        stalled = false;
        jvmFull = false;
        notifyAll();
    }

    /** Bytes of buffers that somebody has. */
    public synchronized long used() {
        return out;
    }

    /** Most bytes of buffers. */
    public long bound() {
        return bound;
    }

    /** Takers get nothing from now on, and stop waiting; buffers may still be given back. */
    @Override
    public synchronized void close() {
        closed = true;
        buffers.drop(Long.MAX_VALUE);
        notifyAll();
    }
}
