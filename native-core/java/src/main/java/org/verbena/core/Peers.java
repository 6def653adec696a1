// SPDX-License-Identifier: Apache-2.0
package org.verbena.core;

import java.util.Arrays;

/** An engine's peers, their messages and their losses. Engine thread. */
final class Peers {
    private final VbnEngine engine;
    private final Page page;
    private final Callbacks callbacks;
    private final Message message;
    private final MessageHandler[] handlers = new MessageHandler[VbnEngine.MESSAGE_IDS];
    /** By the index in the handle. */
    private VbnPeer[] peers = new VbnPeer[16];

    Peers(VbnEngine engine, Page page, Callbacks callbacks) {
        this.engine = engine;
        this.page = page;
        this.callbacks = callbacks;
        message = new Message(page);
    }

    VbnPeer connect(long worker, byte[] address, PeerListener listener) throws VbnException {
        long handle = VbnException.checkHandle(Native.peerConnect(worker, address));
        VbnPeer peer = peer(handle, Native.peerUid(worker, handle));
        peer.connected();
        if (listener != null) {
            peer.onLost(listener);
        }
        return peer;
    }

    void setHandler(long worker, int id, MessageHandler handler) throws VbnException {
        VbnException.check(Native.workerHandler(worker, id, handler != null));
        handlers[id] = handler;
    }

    void received(int index) {
        VbnPeer peer = peer(page.peer(index), page.uid(index));
        MessageHandler handler = handlers[(int) page.token(index)];
        Message filled = message.fill(index, peer);
        if (handler == null) {
            if (filled.remote() != null) {
                engine.drop(filled.remote());
            }
            return;
        }
        try {
            handler.handle(filled);
        } catch (Throwable e) {
            callbacks.failed("message handler " + page.token(index), e);
        }
    }

    void lost(int index) {
        VbnPeer peer = peer(page.peer(index), page.uid(index));
        VbnException cause = Operations.failure(VbnStatus.of(page.status(index)), peer.toString(), page.text(index));
        peers[(int) peer.handle] = null;
        for (PeerListener listener : peer.markLost(cause)) {
            callbacks.run("peer listener", () -> listener.lost(peer, cause));
        }
    }

    private VbnPeer peer(long handle, long uid) {
        int index = (int) handle;
        if (index >= peers.length) {
            peers = Arrays.copyOf(peers, Math.max(index + 1, peers.length * 2));
        }
        if (peers[index] == null || peers[index].handle != handle) {
            peers[index] = new VbnPeer(engine, handle, uid);
        }
        return peers[index];
    }
}
