// SPDX-License-Identifier: Apache-2.0
package org.verbena.core.stream;

import java.nio.ByteBuffer;
import java.util.concurrent.atomic.AtomicBoolean;
import org.verbena.core.Message;
import org.verbena.core.VbnException;
import org.verbena.core.VbnKey;
import org.verbena.core.VbnPeer;
import org.verbena.core.VbnStatus;

/** The memory that this process lends a peer of its host, and that which the peer lends us. Thread safe. */
final class Lending {
    private static final int KEY_MAX = 512;

    private final VbnStreams streams;
    private final VbnPeer peer;
    private final AtomicBoolean offered = new AtomicBoolean();
    private final AtomicBoolean taken = new AtomicBoolean();
    private volatile LentMemory lent;
    private volatile BorrowedMemory borrowed;
    private volatile boolean closed;

    Lending(VbnStreams streams, VbnPeer peer) {
        this.streams = streams;
        this.peer = peer;
    }

    /** The memory that bytes for the peer may lie in; null when there is none, or the peer has not mapped it yet. */
    LentMemory lent() {
        LentMemory memory = lent;
        if (memory != null) {
            return memory.isUsable() ? memory : null;
        }
        if (!offered.getAndSet(true)) {
            offer();
        }
        return null;
    }

    private void offer() {
        if (!peer.transport().equals("shm") || !streams.lend(LentMemory.BYTES)) {
            return;
        }
        LentMemory memory = null;
        try {
            memory = new LentMemory(streams.engine().context().allocate(LentMemory.BYTES));
            byte[] key = memory.key();
            lent = memory;
            ByteBuffer data = ByteBuffer.allocateDirect(key.length).put(key).flip();
            streams.send(peer, new StreamFrame(StreamFrame.LEND, 0, 0, LentMemory.BYTES).encode(), data, null);
        } catch (VbnException | IllegalStateException e) {
            end(memory); // it goes without
        }
        if (closed) {
            close();
        }
    }

    private void end(LentMemory memory) {
        lent = null;
        if (memory != null) {
            memory.close();
        }
        streams.lend(-LentMemory.BYTES);
    }

    /** Engine thread: the peer lends. */
    void take(StreamFrame frame, Message message) throws VbnException {
        if (message.remote() != null || message.length() > KEY_MAX || frame.value() == 0 || frame.value() > BorrowedMemory.MOST
            || taken.getAndSet(true)) {
            throw new VbnException(VbnStatus.PROTOCOL, "an offer of memory that is malformed, or the second of a peer");
        }
        byte[] blob = new byte[(int) message.length()];
        message.data().get(blob);
        VbnKey key = streams.engine().importKey(peer, blob);
        // The first get maps the memory, if that can be done.
        streams.engine().get(key, 0, ByteBuffer.allocateDirect(1), (error, bytes) -> taken(key, frame.value(), error));
    }

    private void taken(VbnKey key, long bytes, VbnException error) {
        ByteBuffer view = error == null && !closed ? key.mapped() : null;
        if (view == null || view.capacity() != bytes) {
            key.close();
            return;
        }
        borrowed = new BorrowedMemory(key, view);
        streams.send(peer, new StreamFrame(StreamFrame.MAPPED, 0, 0, bytes).encode(), null, null);
        if (closed) {
            close();
        }
    }

    /** Engine thread: the peer has mapped what we lend. */
    void mapped() throws VbnException {
        LentMemory memory = lent;
        if (memory == null) {
            throw new VbnException(VbnStatus.PROTOCOL, "memory that was not lent is mapped");
        }
        memory.mapped();
    }

    /** Engine thread: the bytes of a LENT frame. */
    ByteBuffer bytes(ByteBuffer header) throws VbnException {
        BorrowedMemory memory = borrowed;
        if (memory == null) {
            throw new VbnException(VbnStatus.PROTOCOL, "bytes in memory that was not lent");
        }
        return memory.bytes(header);
    }

    /** The peer is lost, or the streams end. Idempotent. */
    synchronized void close() {
        closed = true;
        offered.set(true);
        LentMemory ours = lent;
        if (ours != null) {
            end(ours);
        }
        BorrowedMemory theirs = borrowed;
        borrowed = null;
        if (theirs != null) {
            theirs.close();
        }
    }
}
