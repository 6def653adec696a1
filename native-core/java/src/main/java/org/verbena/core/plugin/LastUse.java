// SPDX-License-Identifier: Apache-2.0
// When a connection was last used, by either side.
package org.verbena.core.plugin;

import org.verbena.core.VbnPeer;

/** Hangs on the peer, because requesting and serving share one connection. Thread safe. */
public final class LastUse {
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

    /**
     * Notes that a peer is used now.
     *
     * @param peer the peer; its attachment becomes this class's
     */
    public static void note(VbnPeer peer) {
        of(peer).at = System.nanoTime();
    }

    /**
     * Tells how long a peer has not been used.
     *
     * @param peer the peer
     * @param now a time of System.nanoTime
     * @return nanoseconds from its last use to that time
     */
    public static long since(VbnPeer peer, long now) {
        return now - of(peer).at;
    }
}
