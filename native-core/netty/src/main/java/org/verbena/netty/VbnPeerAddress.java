// SPDX-License-Identifier: Apache-2.0
package org.verbena.netty;

import java.net.SocketAddress;

/** The other side of a channel that was accepted without TCP: a worker, which cannot be connected to by this. Immutable. */
public final class VbnPeerAddress extends SocketAddress {
    private static final long serialVersionUID = 1;

    private final long uid;

    VbnPeerAddress(long uid) {
        this.uid = uid;
    }

    /** Returns the worker's 64-bit identity, the same for everybody in the job. */
    public long uid() {
        return uid;
    }

    @Override
    public boolean equals(Object other) {
        return other instanceof VbnPeerAddress that && uid == that.uid;
    }

    @Override
    public int hashCode() {
        return Long.hashCode(uid);
    }

    @Override
    public String toString() {
        return "verbena:peer " + Long.toHexString(uid);
    }
}
