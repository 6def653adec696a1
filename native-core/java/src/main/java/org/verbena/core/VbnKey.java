// SPDX-License-Identifier: Apache-2.0
package org.verbena.core;

import java.nio.ByteBuffer;

/** A key of a peer's memory, made by {@link VbnEngine#importKey}. Thread safe. Has to be closed. */
public final class VbnKey implements AutoCloseable {
    final long handle;
    private final VbnEngine engine;
    private Mapping mapping;
    private boolean closed;

    VbnKey(VbnEngine engine, long handle) {
        this.engine = engine;
        this.handle = handle;
    }

    /**
     * Gives the key's range as memory when it is mapped here: same host, and the transport could do it. The mapping is
     * set up in the background; after the first completed {@link VbnEngine#get} it is there if it can be. Loads from
     * the buffer are one-sided reads; it is read-only. It stays valid after close, and after the owner has freed or
     * died. Waits for the engine when called outside it, the first time.
     *
     * @return a fresh view in native byte order, or null: not mapped (yet), larger than 2 GiB - 1, or closed
     */
    public synchronized ByteBuffer mapped() {
        if (closed) {
            return null;
        }
        if (mapping == null) {
            mapping = engine.map(this);
        }
        if (mapping == null || mapping.size > Integer.MAX_VALUE) {
            return null;
        }
        return mapping.slice(0, (int) mapping.size);
    }

    /** Releases the key: operations issued later fail with {@link VbnStatus#STALE}. Idempotent, any thread. */
    @Override
    public synchronized void close() {
        if (closed) {
            return;
        }
        closed = true;
        if (mapping != null) {
            mapping.close();
        }
        engine.closeKey(this);
    }
}
