// SPDX-License-Identifier: Apache-2.0
// How much of the JVM's direct memory fetches and their answers may have.
package org.verbena.spark.read;

import com.sun.management.HotSpotDiagnosticMXBean;
import java.lang.management.ManagementFactory;
import java.util.concurrent.TimeUnit;
import org.verbena.core.plugin.BoundedPool;

/**
 * Half of it receives blocks, an eighth sends small and copied ones, two 32nds carry lists of blocks. What does not fit
 * waits, and goes by Spark's transport when nothing comes free for two seconds.
 */
public final class DirectMemory {
    private static final long PATIENCE = TimeUnit.SECONDS.toNanos(2);
    private static final long LEAST = 1 << 20;

    private DirectMemory() {
    }

    /** -XX:MaxDirectMemorySize, which is as large as the heap unless it is set. */
    static long limit() {
        HotSpotDiagnosticMXBean jvm = ManagementFactory.getPlatformMXBean(HotSpotDiagnosticMXBean.class);
        long set = jvm == null ? 0 : Long.parseLong(jvm.getVMOption("MaxDirectMemorySize").getValue());
        return set > 0 ? set : Runtime.getRuntime().maxMemory();
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
