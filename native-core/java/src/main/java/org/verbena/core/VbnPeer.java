// SPDX-License-Identifier: Apache-2.0
package org.verbena.core;

import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;

/**
 * Another worker, here or elsewhere: one that we connected to, or the sender of a message. Thread safe. A peer that was
 * connected has to be closed as often as it was connected; one that came with a message need not.
 */
public final class VbnPeer implements AutoCloseable {
    final long handle;
    private final VbnEngine engine;
    private final long uid;
    private final CopyOnWriteArrayList<PeerListener> listeners = new CopyOnWriteArrayList<>();
    private volatile boolean lost;
    private volatile VbnException cause;
    private volatile Object attachment;
    private int connects;

    VbnPeer(VbnEngine engine, long handle, long uid) {
        this.engine = engine;
        this.handle = handle;
        this.uid = uid;
    }

    /** Returns the 64-bit identity of the remote worker, the same for everybody in the job, never 0. */
    public long uid() {
        return uid;
    }

    /** Returns one line that says which transport is used and why. Waits for the engine when called outside it. */
    public String explain() {
        try {
            byte[] text = engine.call(worker -> Native.peerExplain(worker, handle));
            return text == null ? "gone" : new String(text, StandardCharsets.UTF_8);
        } catch (VbnException e) {
            return "not known: " + e.getMessage();
        }
    }

    /**
     * Returns the name of the transport that carries the peer ("self", "shm", "tcp", "rc", "ud"), of the one that is tried
     * while it connects; empty when it has none. Waits for the engine when called outside it.
     */
    public String transport() {
        try {
            byte[] name = engine.call(worker -> Native.peerTransport(worker, handle));
            return name == null ? "" : new String(name, StandardCharsets.UTF_8);
        } catch (VbnException e) {
            return "";
        }
    }

    /** True when the peer is lost, or its engine is closed; operations on it fail. */
    public boolean isLost() {
        return lost || engine.isClosed();
    }

    /** Returns why the peer is lost; null when it is not, or only its engine is closed. */
    public VbnException lossCause() {
        return cause;
    }

    /**
     * Adds a listener for the loss of this peer; told at once, on the calling thread, when it is lost already.
     *
     * @param listener the listener
     */
    public void onLost(PeerListener listener) {
        listeners.add(listener);
        if (lost && listeners.remove(listener)) {
            listener.lost(this, cause);
        }
    }

    /** Drops one connect; what was sent before is still delivered (setting link.close_timeout). Any thread. */
    @Override
    public void close() {
        synchronized (this) {
            if (connects == 0) {
                return;
            }
            connects--;
        }
        engine.closePeer(this);
    }

    /** Returns the object given to {@link #attach}, or null. */
    public Object attachment() {
        return attachment;
    }

    /**
     * Hangs an object on the peer, for example a server's session.
     *
     * @param object the object or null
     */
    public void attach(Object object) {
        attachment = object;
    }

    synchronized void connected() {
        connects++;
    }

    /** Engine thread. Returns the listeners to be told. */
    Iterable<PeerListener> markLost(VbnException reason) {
        cause = reason;
        lost = true;
        List<PeerListener> told = new ArrayList<>();
        for (PeerListener listener : listeners) {
            if (listeners.remove(listener)) {
                told.add(listener);
            }
        }
        return told;
    }

    @Override
    public String toString() {
        return "peer " + Long.toHexString(uid) + (lost ? " (lost)" : "");
    }
}
