// SPDX-License-Identifier: Apache-2.0
// How much memory outside the heap the streams of this process may take.
package org.verbena.hadoop.hdfs;

import com.sun.management.HotSpotDiagnosticMXBean;
import java.io.IOException;
import java.lang.management.ManagementFactory;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.verbena.core.plugin.BufferBudget;
import org.verbena.core.plugin.HostMemory;
import org.verbena.core.stream.StreamLimits;

/**
 * One budget for all engines of a JVM: the least of what direct memory and container or host have for it. A client has less need
 * of it than a DataNode, which multiplies by its connections; the rule is the same.
 */
public final class StreamBudget {
    private static final Logger LOG = LoggerFactory.getLogger(StreamBudget.class);
    private static final long LEAST = 16L << 20;
    /** Of direct memory: Hadoop takes some as well. */
    private static final int DIRECT_PART = 2;
    /** Of what container or host have beside the JVM: a DataNode's memory tier takes the rest. */
    private static final int MEMORY_PART = 4;
    /** A packet of Hadoop, 64 KiB with checksums and header, is one message. */
    private static final int PIECE = 80 << 10;
    private static final int WINDOW = 1 << 20;
    private static final long KEPT = 32L << 20;
    /** A part of the budget is kept or lent at most: what streams wait for comes first. */
    private static final int SIDE_PART = 4;

    /** What one stream may have at most. */
    static final StreamLimits LIMITS = new StreamLimits(WINDOW, PIECE, StreamLimits.DEFAULT.streamsPerPeer(), KEPT);

    private StreamBudget() {
    }

    /** Made with the first stream. */
    private static final class Lazy {
        static final BufferBudget BUDGET = make();

        private static BufferBudget make() {
            long bytes = bytes();
            return new BufferBudget(bytes, Math.min(KEPT, bytes / SIDE_PART), bytes / SIDE_PART);
        }
    }

    /** The budget of this JVM. */
    static BufferBudget shared() {
        return Lazy.BUDGET;
    }

    /** Returns how large it is in this JVM. */
    public static long bytes() {
        return bytes(memory(), Runtime.getRuntime().maxMemory(), direct());
    }

    /**
     * Chooses its size.
     *
     * @param memory bytes of the host or container
     * @param heap most bytes of the heap
     * @param direct most bytes of direct memory
     */
    static long bytes(long memory, long heap, long direct) {
        long left = Math.max(0, memory - heap - HostMemory.besideHeap(heap));
        return Math.max(LEAST, Math.min(direct / DIRECT_PART, left / MEMORY_PART));
    }

    private static long memory() {
        try {
            return HostMemory.bytes();
        } catch (IOException e) {
            LOG.warn("Verbena: streams have only {} MiB of memory: {}", LEAST >> 20, e.getMessage());
            return 0;
        }
    }

    /** -XX:MaxDirectMemorySize, which is as large as the heap unless it is set. */
    private static long direct() {
        HotSpotDiagnosticMXBean jvm = ManagementFactory.getPlatformMXBean(HotSpotDiagnosticMXBean.class);
        long set = jvm == null ? 0 : Long.parseLong(jvm.getVMOption("MaxDirectMemorySize").getValue());
        return set > 0 ? set : Runtime.getRuntime().maxMemory();
    }
}
