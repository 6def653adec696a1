// SPDX-License-Identifier: Apache-2.0
// Which connections read blocks, and which of them the core leaves to Hadoop.
package org.verbena.hadoop.hdfs;

import java.util.concurrent.TimeUnit;
import java.util.function.BooleanSupplier;
import org.verbena.core.VbnPeer;

/**
 * Where the core itself has nothing but TCP, blocks are read by Hadoop's own connections: their DataNode sends the file by
 * sendfile(2), which copies nothing, and the core copies twice. Writes gain by the core there, too. Thread safe.
 */
final class BlockReads {
    /** Looking asks the engine; a connection may get a better transport later. */
    private static final long LOOK_NANOS = TimeUnit.SECONDS.toNanos(1);
    private static final int FRAMES = 12;
    private static final String CLIENT = "org.apache.hadoop.hdfs.DFSClient";
    private static final String READER = "newConnectedPeer";
    private static final StackWalker WALKER = StackWalker.getInstance();

    private final BooleanSupplier plainTcp;
    private volatile boolean tcp;
    private volatile long looked;

    /** For one DataNode. plainTcp: whether settings leave such reads to Hadoop, and the core's TCP does not encrypt. */
    BlockReads(BooleanSupplier plainTcp) {
        this.plainTcp = plainTcp;
    }

    /** Whether a connection that this thread opens is left to Hadoop. */
    boolean areHadoops(VbnPeer peer) {
        return byPlainTcp(peer) && readsBlocks();
    }

    private boolean byPlainTcp(VbnPeer peer) {
        long now = System.nanoTime();
        if (looked == 0 || now - looked > LOOK_NANOS) {
            tcp = peer.transport().equals("tcp") && plainTcp.getAsBoolean();
            looked = now == 0 ? 1 : now;
        }
        return tcp;
    }

    /** Whether this thread opens a connection in order to read blocks: Hadoop's client does so by one method. */
    static boolean readsBlocks() {
        return WALKER.walk(frames -> frames.limit(FRAMES)
            .anyMatch(frame -> frame.getMethodName().equals(READER) && frame.getClassName().equals(CLIENT)));
    }
}
