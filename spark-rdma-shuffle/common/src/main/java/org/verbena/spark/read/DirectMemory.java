// SPDX-License-Identifier: Apache-2.0
// How much of the JVM's direct memory fetches and their answers may have.
package org.verbena.spark.read;

import com.sun.management.HotSpotDiagnosticMXBean;
import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.util.concurrent.TimeUnit;
import org.verbena.core.plugin.BoundedPool;
import org.verbena.core.plugin.HostMemory;

/**
 * Half of it receives blocks, an eighth sends small and copied ones, two 32nds carry lists of blocks. What does not fit
 * waits, and goes by Spark's transport when nothing comes free for two seconds.
 */
public final class DirectMemory {
    private static final long PATIENCE = TimeUnit.SECONDS.toNanos(2);
    private static final long LEAST = 1 << 20;
    /** Of all pools, where container or host have less beside the heap. */
    private static final long LEAST_LIMIT = 64 << 20;

    private DirectMemory() {
    }

    /** -XX:MaxDirectMemorySize, which is as large as the heap unless it is set; less where container or host have less. */
    static long limit() {
        HotSpotDiagnosticMXBean jvm = ManagementFactory.getPlatformMXBean(HotSpotDiagnosticMXBean.class);
        long set = jvm == null ? 0 : Long.parseLong(jvm.getVMOption("MaxDirectMemorySize").getValue());
        try {
            return limit(set, Runtime.getRuntime().maxMemory(), HostMemory.bytes());
        } catch (IOException e) {
            return limit(set, Runtime.getRuntime().maxMemory(), Long.MAX_VALUE);
        }
    }

    /**
     * The same for a JVM.
     *
     * @param set -XX:MaxDirectMemorySize, 0 where it is not set
     * @param heap most bytes of its heap
     * @param memory of its container or host
     */
    static long limit(long set, long heap, long memory) {
        return Math.min(set > 0 ? set : heap, Math.max(LEAST_LIMIT, memory - heap));
    }

    private static BoundedPool pool(long bound, long maxKept) {
        return new BoundedPool(Math.max(LEAST, bound), maxKept, PATIENCE);
    }

    /** For the blocks that come. */
    static BoundedPool forBlocks() {
        return pool(limit() / 2, 128L << 20);
    }

    /** For the parts of replies that are copied. */
    static BoundedPool forReplies() {
        return pool(limit() / 8, 64L << 20);
    }

    /** For the names of blocks that are asked for; one for each direction. */
    static BoundedPool forLists() {
        return pool(limit() / 32, 8L << 20);
    }

    /** Most bytes of all pools of an executor. */
    public static long bound() {
        return limit() / 2 + limit() / 8 + limit() / 16;
    }
}
