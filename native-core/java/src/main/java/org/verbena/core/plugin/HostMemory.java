// SPDX-License-Identifier: Apache-2.0
package org.verbena.core.plugin;

import com.sun.management.HotSpotDiagnosticMXBean;
import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;

/** How much memory there is for what plugins keep outside the heap. */
public final class HostMemory {
    /** What a JVM takes beside its heap: code, classes, threads, network; and the books of its collector, a part of the heap. */
    private static final long JVM = 192L << 20;
    private static final int COLLECTOR_PART = 16;

    private HostMemory() {
    }

    /**
     * Returns the bytes that a JVM takes beside its heap, without direct memory.
     *
     * @param heap most bytes of the heap
     */
    public static long besideHeap(long heap) {
        return JVM + heap / COLLECTOR_PART;
    }

    /** Returns the most bytes of direct memory: -XX:MaxDirectMemorySize, which is as large as the heap unless it is set. */
    public static long direct() {
        HotSpotDiagnosticMXBean jvm = ManagementFactory.getPlatformMXBean(HotSpotDiagnosticMXBean.class);
        long set = jvm == null ? 0 : Long.parseLong(jvm.getVMOption("MaxDirectMemorySize").getValue());
        return set > 0 ? set : Runtime.getRuntime().maxMemory();
    }

    /**
     * Returns the bytes of the host's memory.
     *
     * @throws IOException when the kernel does not say
     */
    public static long ofHost() throws IOException {
        for (String line : Files.readAllLines(Path.of("/proc/meminfo"), StandardCharsets.US_ASCII)) {
            if (line.startsWith("MemTotal:")) {
                return Long.parseLong(line.replaceAll("[^0-9]", "")) << 10;
            }
        }
        throw new IOException("/proc/meminfo does not say MemTotal");
    }

    /**
     * Returns the bytes of memory of the host, or of the container that this process is in: files in tmpfs are charged to it.
     *
     * @throws IOException when the kernel does not say
     */
    public static long bytes() throws IOException {
        return Math.min(ofHost(), ControlGroups.memoryLimit(Path.of("/")));
    }
}
