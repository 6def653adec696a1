// SPDX-License-Identifier: Apache-2.0
// How much of the JVM's direct memory fetches and their answers may have.
package org.verbena.spark.read;

import java.io.IOException;
import java.util.concurrent.TimeUnit;
import org.verbena.core.plugin.BoundedPool;
import org.verbena.core.plugin.HostMemory;

/**
 * Pools within {@link BufferBounds}. What does not fit waits, and goes by Spark's transport when nothing comes free for two
 * seconds.
 */
public final class DirectMemory {
    private static final long PATIENCE = TimeUnit.SECONDS.toNanos(2);
    /** Of all pools, where container or host have less beside the heap. */
    private static final long LEAST_LIMIT = 64 << 20;

    private final BufferBounds bounds;
    private final long patience;

    /** The memory of an executor. */
    public DirectMemory(BufferBounds bounds) {
        this(bounds, PATIENCE);
    }

    /** patience: for what comes free, in nanoseconds. */
    DirectMemory(BufferBounds bounds, long patience) {
        this.bounds = bounds;
        this.patience = patience;
    }

    /** The JVM's direct memory; less where container or host have less. */
    public static long limit() {
        try {
            return limit(HostMemory.direct(), Runtime.getRuntime().maxMemory(), HostMemory.bytes());
        } catch (IOException e) {
            return limit(HostMemory.direct(), Runtime.getRuntime().maxMemory(), Long.MAX_VALUE);
        }
    }

    /**
     * The same for a JVM.
     *
     * @param direct most bytes of its direct memory
     * @param heap most bytes of its heap
     * @param memory of its container or host
     */
    static long limit(long direct, long heap, long memory) {
        return Math.min(direct, Math.max(LEAST_LIMIT, memory - heap));
    }

    /** Keeps what is given back, since its memory is counted for it alone. */
    private BoundedPool pool(long bound) {
        return new BoundedPool(bound, bound, patience);
    }

    /** For the blocks that come. */
    BoundedPool forBlocks() {
        return pool(bounds.blocks());
    }

    /** For the parts of replies that are copied. */
    BoundedPool forReplies() {
        return pool(bounds.replies());
    }

    /** For the names of blocks that are asked for; one for each direction. */
    BoundedPool forLists() {
        return pool(bounds.lists());
    }

    /** What gives the blocks that come more memory. */
    String cure() {
        return bounds.cure();
    }

    /** Most bytes of all pools of an executor. */
    public long bound() {
        return bounds.sum();
    }
}
