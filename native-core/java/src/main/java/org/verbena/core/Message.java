// SPDX-License-Identifier: Apache-2.0
package org.verbena.core;

import java.nio.ByteBuffer;

/** An active message, valid (with its buffers) during {@link MessageHandler#handle} only. */
public final class Message {
    private final Page page;
    private int index;
    private VbnPeer peer;
    private RemoteData remote;

    Message(Page page) {
        this.page = page;
    }

    Message fill(int index, VbnPeer peer) {
        this.index = index;
        this.peer = peer;
        long handle = page.remote(index);
        remote = handle == 0 ? null : new RemoteData(handle, page.length(index));
        return this;
    }

    /** Returns the sender, which may be kept and answered to. */
    public VbnPeer peer() {
        return peer;
    }

    /** Returns a view of the header, native byte order. */
    public ByteBuffer header() {
        return page.header(index);
    }

    /** Returns a view of a small message's data, native byte order; null when the data is large. */
    public ByteBuffer data() {
        return remote == null ? page.data(index) : null;
    }

    /** Returns the bytes of the data, small or large. */
    public long length() {
        return page.length(index);
    }

    /** Returns the data of a large message, to be ended by pull or drop; null when it is small. */
    public RemoteData remote() {
        return remote;
    }
}
