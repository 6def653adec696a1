// SPDX-License-Identifier: Apache-2.0
package org.verbena.core;

/**
 * The data of a large message, still at its sender. Has to be ended by {@link VbnEngine#pull} or
 * {@link VbnEngine#drop}; the sender's buffers are held until then. Immutable; any thread may hold it.
 */
public final class RemoteData {
    final long handle;
    private final long length;

    RemoteData(long handle, long length) {
        this.handle = handle;
        this.length = length;
    }

    /** Returns its bytes. */
    public long length() {
        return length;
    }
}
