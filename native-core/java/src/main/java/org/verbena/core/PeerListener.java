// SPDX-License-Identifier: Apache-2.0
package org.verbena.core;

/** Told that a peer is lost. Runs on the engine's thread and must not block. */
@FunctionalInterface
public interface PeerListener {
    /**
     * The peer died, or its connection broke, or it could not be reached; called once. Pending operations have
     * completed with the same status before. The peer still has to be closed.
     *
     * @param peer the peer, from now on {@link VbnPeer#isLost()}
     * @param cause why
     */
    void lost(VbnPeer peer, VbnException cause);
}
