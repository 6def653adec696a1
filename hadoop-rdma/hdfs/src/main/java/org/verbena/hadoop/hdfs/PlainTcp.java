// SPDX-License-Identifier: Apache-2.0
// Whether the core has nothing better to a DataNode than what Hadoop has.
package org.verbena.hadoop.hdfs;

import java.util.concurrent.TimeUnit;
import java.util.function.BooleanSupplier;
import org.verbena.core.VbnPeer;

/**
 * Over TCP a stream of the core gains nothing: Hadoop's DataNode sends files by sendfile(2), which copies nothing, and writes take
 * one copy less. So connections are Hadoop's there, unless the core encrypts. Thread safe.
 */
final class PlainTcp {
    /** Looking asks the engine; a connection may get a better transport later. */
    private static final long LOOK_NANOS = TimeUnit.SECONDS.toNanos(1);

    private final BooleanSupplier left;
    private volatile boolean found;
    private volatile long looked;

    /** For one DataNode. left: whether settings leave TCP to Hadoop, and the core's does not encrypt. */
    PlainTcp(BooleanSupplier left) {
        this.left = left;
    }

    /** Whether a connection is left to Hadoop. */
    boolean isHadoops(VbnPeer peer) {
        long now = System.nanoTime();
        if (looked == 0 || now - looked > LOOK_NANOS) {
            found = peer.transport().equals("tcp") && left.getAsBoolean();
            looked = now == 0 ? 1 : now;
        }
        return found;
    }
}
