// SPDX-License-Identifier: Apache-2.0
// Counts bytes and blocks by the path they took, and blocks that Spark's transport had to bring by the reason why.
package org.verbena.spark.metrics;

import java.util.Locale;
import java.util.concurrent.atomic.LongAdder;

/** Counters of one executor. Thread safe. */
public final class Traffic {
    /** Where a block's bytes came from; the last one counts what left. */
    public enum Path {
        /** Slabs of this executor. */
        LOCAL_SLAB("from own memory"),
        /** Slabs of another executor of this host, mapped. */
        HOST_SLAB("from mapped memory of neighbours"),
        /** Another executor of this host, by the core's shared-memory transport. */
        SHM("by shared-memory messages"),
        /** Another executor, by an RDMA device. */
        RDMA("by RDMA"),
        /** Another executor, by the core's TCP transport. */
        TCP("by TCP"),
        /** Another executor, by Spark's own transport. */
        NETTY("by Spark's transport"),
        /** Sent to other executors by the core. */
        SERVED("to others");

        private final String text;

        Path(String text) {
            this.text = text;
        }

        /** The path as part of a sentence. */
        public String text() {
            return text;
        }

        /** The path of a peer that this transport of the core carries. */
        public static Path ofTransport(String transport) {
            return switch (transport) {
                case "self", "shm" -> SHM;
                case "rc", "ud" -> RDMA;
                default -> TCP;
            };
        }
    }

    /** Why Spark's own transport brought blocks. */
    public enum Reason {
        /** The first fetches from an executor, while the connection is being made. */
        CONNECTING("not yet connected"),
        /** The other executor has no engine. */
        REFUSED("the other side stands aside"),
        /** The connection could not be made or was lost. */
        DOWN("connection failed"),
        /** More executors than spark.verbena.maxPeers. */
        PEERS("over spark.verbena.maxPeers"),
        /** Cached blocks on disk that the external shuffle service has, because executors end. */
        SERVICE("from the external shuffle service"),
        /** Spark wants the blocks on disk, because they are too large for memory. */
        TO_DISK("too large for memory"),
        /** The direct memory of one side is in use. */
        NO_MEMORY("no direct memory free"),
        /** The other side could not serve the block by the core. */
        NOT_SERVED("not served");

        private final String text;

        Reason(String text) {
            this.text = text;
        }

        /** The reason as part of a sentence. */
        public String text() {
            return text;
        }
    }

    private final LongAdder[] bytes = adders(Path.values().length);
    private final LongAdder[] blocks = adders(Path.values().length);
    private final Fetches fetches = new Fetches();
    private final LongAdder[] fallbacks = adders(Reason.values().length);

    /** All zero. */
    public Traffic() {
    }

    private static LongAdder[] adders(int count) {
        LongAdder[] all = new LongAdder[count];
        for (int i = 0; i < count; i++) {
            all[i] = new LongAdder();
        }
        return all;
    }

    /** Requests to other executors and their times. */
    public Fetches fetches() {
        return fetches;
    }

    /** Counts one block. */
    public void count(Path path, long size) {
        bytes[path.ordinal()].add(size);
        blocks[path.ordinal()].increment();
    }

    /** Counts blocks that Spark's transport has to bring. */
    public void countFallback(Reason reason, int count) {
        fallbacks[reason.ordinal()].add(count);
    }

    /** Bytes of a path. */
    public long bytes(Path path) {
        return bytes[path.ordinal()].sum();
    }

    /** Blocks of a path. */
    public long blocks(Path path) {
        return blocks[path.ordinal()].sum();
    }

    /** Blocks that Spark's transport had to bring. */
    public long fallbacks(Reason reason) {
        return fallbacks[reason.ordinal()].sum();
    }

    /** All counters, for tests and debugging. */
    @Override
    public String toString() {
        StringBuilder text = new StringBuilder("read");
        for (Path path : Path.values()) {
            text.append(' ').append(path.name().toLowerCase(Locale.ROOT)).append(' ').append(bytes(path))
                .append(" bytes in ").append(blocks(path)).append(" blocks");
        }
        for (Reason reason : Reason.values()) {
            text.append(", ").append(reason.name().toLowerCase(Locale.ROOT)).append(' ').append(fallbacks(reason));
        }
        return text.toString();
    }
}
