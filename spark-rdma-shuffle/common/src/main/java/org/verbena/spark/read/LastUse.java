// SPDX-License-Identifier: Apache-2.0
// When a connection was last used, by either side.
package org.verbena.spark.read;

import org.verbena.core.VbnPeer;

/** Hangs on the peer, because fetching and serving share one connection. Thread safe. */
final class LastUse {
    private volatile long at;

    private LastUse() {
    }

    private static LastUse of(VbnPeer peer) {
        if (peer.attachment() instanceof LastUse use) {
            return use;
        }
        LastUse use = new LastUse();
        use.at = System.nanoTime();
        peer.attach(use);
        return use;
    }

    /** It is used now. */
    static void note(VbnPeer peer) {
        of(peer).at = System.nanoTime();
    }

    /** Nanoseconds from its last use to a time of System.nanoTime. */
    static long since(VbnPeer peer, long now) {
        return now - of(peer).at;
    }
}
