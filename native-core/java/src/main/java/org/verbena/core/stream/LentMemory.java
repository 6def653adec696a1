// SPDX-License-Identifier: Apache-2.0
package org.verbena.core.stream;

import java.nio.ByteBuffer;
import java.util.ArrayDeque;
import org.verbena.core.VbnException;
import org.verbena.core.VbnMemory;

/**
 * Memory in which bytes for one peer of this host lie while it reads them: it has the memory mapped, so that a byte is copied
 * once by the writer and once by the reader. It is that peer's alone: what it could read beside its streams was meant for it.
 * Thread safe.
 */
final class LentMemory {
    /** Bytes of a slot: those of a message, at most. */
    static final int SLOT = 64 << 10;
    /** Smaller messages go without: they would occupy as much. */
    static final int LEAST = 32 << 10;
    static final int BYTES = 2 << 20;

    /** Bytes of a stream that lie in a slot, up to a place of the stream. */
    record Slot(LentMemory memory, int index, long end) {
        void give() {
            memory.give(index);
        }
    }

    private final VbnMemory memory;
    private final ByteBuffer all;
    private final ArrayDeque<Integer> free = new ArrayDeque<>();
    private volatile boolean usable;

    /** Takes the memory, which it closes. */
    LentMemory(VbnMemory memory) {
        this.memory = memory;
        all = memory.buffer();
        for (int i = 0; i < BYTES / SLOT; i++) {
            free.add(i);
        }
    }

    byte[] key() throws VbnException {
        return memory.exportKey(0, BYTES, false);
    }

    /** The peer has mapped it. */
    void mapped() {
        usable = true;
    }

    boolean isUsable() {
        return usable;
    }

    /** The number of a slot that is the caller's until it is given back; -1: none. */
    synchronized int take() {
        Integer index = usable ? free.poll() : null;
        return index == null ? -1 : index;
    }

    synchronized void give(int index) {
        free.add(index);
    }

    static int offset(int index) {
        return index * SLOT;
    }

    /** The first bytes of a slot. */
    ByteBuffer buffer(int index, int bytes) {
        return all.slice(index * SLOT, bytes);
    }

    /** The peer is lost. It keeps what it has mapped; here the memory goes when nobody writes to it. */
    void close() {
        usable = false;
        memory.close();
    }
}
