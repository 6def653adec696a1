// SPDX-License-Identifier: Apache-2.0
package org.verbena.memcached;

import java.nio.ByteBuffer;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicReferenceArray;
import org.verbena.core.VbnEngine;
import org.verbena.core.VbnException;
import org.verbena.core.VbnKey;
import org.verbena.core.VbnPeer;
import org.verbena.memcached.read.StoreReader;

/**
 * Gets that read the memory of a server, mapped here. The core maps in the background; until then, and for all that the reader
 * cannot show for certain, gets go by message. Views of a mapping keep it, so a reader on another thread never meets unmapped
 * memory.
 */
final class OneSided {
    /** One of so many hits goes by message, so that the server sees what is in use. */
    private static final int ASKED_EVERY = 64;

    private final VbnEngine engine;
    private final VbnPeer peer;
    private final byte[] pageKey;
    private final AtomicBoolean mapping = new AtomicBoolean();
    private volatile StoreReader reader;
    private volatile AtomicReferenceArray<ByteBuffer> memories;
    private volatile boolean closed;
    /** Roughly: threads may lose counts of each other. */
    private int gets;
    /** Of the engine's thread: the key of the page, those of the memories. */
    private VbnKey page;
    private VbnKey[] keys = {};

    OneSided(VbnEngine engine, VbnPeer peer, byte[] pageKey) {
        this.engine = engine;
        this.peer = peer;
        this.pageKey = pageKey;
    }

    /** True once the server's page is mapped. */
    boolean reads() {
        return reader != null && !closed;
    }

    /** Reads an item; null: it is to be asked for. Any thread. */
    StoreReader.Item get(byte[] key, StoreReader.Room room) {
        StoreReader now = reader;
        if (closed || ++gets % ASKED_EVERY == 0) {
            return null;
        }
        if (now == null) {
            map(this::mapPage);
            return null;
        }
        StoreReader.Item item = now.get(key, room);
        if (item == null && !now.isAlive()) {
            close();
        }
        return item;
    }

    private ByteBuffer memory(int number) {
        ByteBuffer mapped = memories.get(number);
        if (mapped == null) {
            map(() -> mapMemory(number));
        }
        return mapped;
    }

    /** Lets the engine's thread try to map something, one thing at a time. */
    private void map(Runnable task) {
        if (closed || !mapping.compareAndSet(false, true)) {
            return;
        }
        try {
            engine.execute(() -> {
                try {
                    if (!closed) {
                        task.run();
                    }
                } finally {
                    mapping.set(false);
                }
            });
        } catch (RejectedExecutionException e) {
            closed = true; // the engine has ended
        }
    }

    private void mapPage() {
        try {
            page = page == null ? engine.importKey(peer, pageKey) : page;
            ByteBuffer mapped = reader != null ? null : page.mapped();
            if (mapped != null) {
                StoreReader made = new StoreReader(mapped, this::memory);
                keys = new VbnKey[made.memoriesMost()];
                memories = new AtomicReferenceArray<>(made.memoriesMost());
                reader = made;
            }
        } catch (VbnException | IllegalArgumentException e) {
            close(); // a page of another version, or the server is gone
        }
    }

    private void mapMemory(int number) {
        try {
            byte[] key = reader.keyOf(number);
            if (key != null && memories.get(number) == null) {
                keys[number] = keys[number] == null ? engine.importKey(peer, key) : keys[number];
                memories.set(number, keys[number].mapped());
            }
        } catch (VbnException e) {
            close();
        }
    }

    /** Nothing is read any more. Any thread, idempotent. */
    void close() {
        closed = true;
        try {
            engine.execute(() -> {
                for (VbnKey key : keys) {
                    if (key != null) {
                        key.close();
                    }
                }
                if (page != null) {
                    page.close();
                }
            });
        } catch (RejectedExecutionException e) {
            closed = true; // the engine has closed them
        }
    }
}
