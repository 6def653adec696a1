// SPDX-License-Identifier: Apache-2.0
// Counts bytes and blocks by the path they took.
package org.verbena.spark.metrics;

import java.util.Locale;
import java.util.concurrent.atomic.LongAdder;

/** Counters of one executor. Thread safe. */
public final class Traffic {
    /** Where a block's bytes came from. */
    public enum Path { LOCAL_SLAB, HOST_SLAB, REMOTE, SERVED }

    private final LongAdder[] bytes = new LongAdder[Path.values().length];
    private final LongAdder[] blocks = new LongAdder[Path.values().length];
    private final LongAdder fallbacks = new LongAdder();

    /** All zero. */
    public Traffic() {
        for (int i = 0; i < bytes.length; i++) {
            bytes[i] = new LongAdder();
            blocks[i] = new LongAdder();
        }
    }

    /** Counts one block. */
    public void count(Path path, long size) {
        bytes[path.ordinal()].add(size);
        blocks[path.ordinal()].increment();
    }

    /** Counts blocks that went to Spark's own transport after ours failed. */
    public void countFallback(int count) {
        fallbacks.add(count);
    }

    /** Bytes of a path. */
    public long bytes(Path path) {
        return bytes[path.ordinal()].sum();
    }

    /** Blocks of a path. */
    public long blocks(Path path) {
        return blocks[path.ordinal()].sum();
    }

    /** Blocks that fell back. */
    public long fallbacks() {
        return fallbacks.sum();
    }

    @Override
    public String toString() {
        StringBuilder text = new StringBuilder("read");
        for (Path path : Path.values()) {
            text.append(path == Path.SERVED ? ", " : " ").append(path.name().toLowerCase(Locale.ROOT)).append(' ')
                .append(bytes(path)).append(" bytes in ").append(blocks(path)).append(" blocks");
        }
        return text.append(", fell back ").append(fallbacks()).append(" blocks").toString();
    }
}
