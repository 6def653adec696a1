// SPDX-License-Identifier: Apache-2.0
package org.apache.hadoop.hdfs;

import java.util.concurrent.atomic.AtomicLong;

/** Bytes of a JVM's small files that wait for their close: thousands of open files must not fill the heap. */
final class HeldBytes {
    private static final long MOST = 64L << 20;
    private static final int SHARE = 16;
    private static final long LIMIT = Math.min(MOST, Runtime.getRuntime().maxMemory() / SHARE);
    private static final AtomicLong HELD = new AtomicLong();

    private HeldBytes() {
    }

    /** Counts bytes; false when there are too many. They count in either case. */
    static boolean add(long bytes) {
        return HELD.addAndGet(bytes) <= LIMIT;
    }

    static void sub(long bytes) {
        HELD.addAndGet(-bytes);
    }

    static long held() {
        return HELD.get();
    }

    static long limit() {
        return LIMIT;
    }
}
