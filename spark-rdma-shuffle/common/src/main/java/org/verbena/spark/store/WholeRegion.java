// SPDX-License-Identifier: Apache-2.0
// A block on its way to a socket by Spark's transport.
package org.verbena.spark.store;

import org.apache.spark.network.util.AbstractFileRegion;

/** Stands where Spark's own shuffle hands Netty a region of a file. Belongs to the channel's thread. */
abstract class WholeRegion extends AbstractFileRegion {
    private final long count;
    private long transferred;

    /** count: bytes of the block. */
    WholeRegion(long count) {
        this.count = count;
    }

    /** Adds bytes that the target has taken; gives them back. */
    final int taken(int bytes) {
        transferred += bytes;
        return bytes;
    }

    @Override
    public final long position() {
        return 0;
    }

    @Override
    public final long count() {
        return count;
    }

    @Override
    public final long transferred() {
        return transferred;
    }
}
