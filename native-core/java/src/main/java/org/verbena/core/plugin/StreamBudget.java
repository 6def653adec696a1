// SPDX-License-Identifier: Apache-2.0
// How much memory outside the heap the streams of this process may take.
package org.verbena.core.plugin;

import java.io.IOException;

/**
 * One budget for all engines and plugins of a JVM: the least of what direct memory and container or host have for it. A client has
 * less need of it than a server, which multiplies by its connections; the rule is the same. Thread safe.
 */
public final class StreamBudget {
    private static final long LEAST = 16L << 20;
    /** Of direct memory: the host system takes some as well. */
    private static final int DIRECT_PART = 2;
    /** Of what container or host have beside the JVM: a DataNode's memory tier takes the rest. */
    private static final int MEMORY_PART = 4;
    private static final long KEPT = 32L << 20;
    /** A part of the budget is kept or lent at most: what streams wait for comes first. */
    private static final int SIDE_PART = 4;

    private StreamBudget() {
    }

    /** Made with the first stream. */
    private static final class Lazy {
        static final Size SIZE = size();
        static final BufferBudget BUDGET = new BufferBudget(SIZE.bytes, Math.min(KEPT, SIZE.bytes / SIDE_PART),
            SIZE.bytes / SIDE_PART);
    }

    /** How large the budget is, and why. */
    private record Size(long bytes, String why) { }

    /** Returns the budget of this JVM. */
    public static BufferBudget shared() {
        return Lazy.BUDGET;
    }

    /** Returns how large it is in this JVM. */
    public static long bytes() {
        return size().bytes;
    }

    /** Returns its size and the reason in a sentence, for the log. */
    public static String words() {
        return "streams hold at most " + (Lazy.SIZE.bytes >> 20) + " MiB outside the heap, for bytes that wait to be sent or read: "
            + Lazy.SIZE.why;
    }

    private static Size size() {
        try {
            return new Size(bytes(HostMemory.bytes(), Runtime.getRuntime().maxMemory(), HostMemory.direct()),
                "the least of a quarter of the memory that container or host have beside the JVM, and half of its direct memory");
        } catch (IOException e) {
            return new Size(LEAST, "the memory of container or host is not known (" + e.getMessage() + ")");
        }
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
}
