// SPDX-License-Identifier: Apache-2.0
package org.verbena.memcached.read;

import java.lang.invoke.VarHandle;
import java.nio.ByteBuffer;

/**
 * Reads items of a store in another process, whose memories are mapped here, without its lock and without its help
 * (../../store/reader.h). A hit is an item that was in the store, not expired and not flushed, at some moment during the call.
 * Everything else is to be asked by message. Nothing read from the memories is trusted before it is checked. Any thread.
 *
 * <p>The order that makes a copy valid (I1 to I3 of the store): the entry (acquire: the item's bytes were written before it), the
 * generation of the grain, header and bytes, a fence, the generation again, the entry again. Who reuses the bytes changes the
 * generation first; who replaces or removes the item changes the entry.
 */
public final class StoreReader {
    private static final int TRIES = 3;
    /** Reads of an item since the server's last look, that it is to see: they keep the item longer. */
    private static final int COUNTED_READS = 2;
    /** Overflow buckets: a longer chain changes meanwhile. */
    private static final int CHAIN_MOST = 64;
    private static final int VALUE_MOST = 64 << 10;
    private static final int ENTRIES = 7;
    private static final int OVERFLOW = 60;
    private static final int HEADER = 40;
    private static final long POSITION_MASK = (1L << 36) - 1;
    private static final int GENERATION_MASK = 0xfff;

    /** Finds the memories of a store. */
    @FunctionalInterface
    public interface Memories {
        /**
         * Gives a memory.
         *
         * @param number of the memory
         * @return the mapped memory, the same at each call; null: it is not mapped, or not yet
         */
        ByteBuffer memory(int number);
    }

    /** Where a value goes. */
    @FunctionalInterface
    public interface Room {
        /**
         * Gives room.
         *
         * @param valueBytes bytes of the value
         * @return a buffer, whose bytes from its position on are written; null: there is no room, and nothing is read
         */
        ByteBuffer of(int valueBytes);
    }

    /**
     * An item that was read. Immutable.
     *
     * @param valueBytes bytes of the value
     * @param flags the client's flags
     * @param cas the CAS id
     */
    public record Item(int valueBytes, int flags, long cas) {
    }

    private final Page page;
    private final Memories memories;

    /**
     * Looks at the page of a store.
     *
     * @param page mapped, in any byte order
     * @param memories finds the others
     * @throws IllegalArgumentException when the page makes no sense
     */
    public StoreReader(ByteBuffer page, Memories memories) {
        this.page = new Page(page);
        this.memories = memories;
    }

    /** Returns how many memories the store can have. */
    public int memoriesMost() {
        return page.memoriesMost;
    }

    /**
     * Returns the key of a memory, or null.
     *
     * @param memory its number, less than {@link #memoriesMost}
     */
    public byte[] keyOf(int memory) {
        return page.keyOf(memory);
    }

    /** Returns false when the server has ended: nothing of it may be read any more. */
    public boolean isAlive() {
        return page.isAlive();
    }

    /**
     * Reads an item.
     *
     * @param key its key
     * @param room takes the value; its bytes are undefined unless there is an item
     * @return the item; null: ask for it by message
     */
    public Item get(byte[] key, Room room) {
        Get get = new Get(key, room);
        Item item = null;
        for (int i = 0; i < TRIES && item == null && page.isAlive(); i++) {
            item = get.once();
        }
        return item;
    }

    /** One get; it moves through the memories. */
    private final class Get {
        private final byte[] key;
        private final Room room;
        private final long hash;
        private final Page.Shard shard;
        /** Of the last {@link #seek}. */
        private ByteBuffer memory;
        private int offset;

        Get(byte[] key, Room room) {
            this.key = key;
            this.room = room;
            hash = Hash.of(page.seed, key);
            shard = page.shard(page.shardBits == 0 ? 0 : (int) (hash >>> 64 - page.shardBits));
        }

        /** Goes to a position; false: it is not mapped, or has fewer bytes than `least` to the end of the memory. */
        private boolean seek(long position, long least) {
            long number = position >>> page.memoryShift;
            long at = position & (1L << page.memoryShift) - 1;
            if (number >= page.memoriesMost || number >= page.memories()) {
                return false;
            }
            ByteBuffer mapped = memories.memory((int) number);
            if (mapped == null || at + least > mapped.capacity()) {
                return false;
            }
            memory = mapped;
            offset = (int) at;
            return true;
        }

        private boolean seekBucket(long number, boolean overflow) {
            long position = page.chunk(shard, number / shard.perChunk, overflow);
            if (position < 0 || !seek(position, shard.perChunk * Page.BUCKET)) {
                return false;
            }
            offset += (int) (number % shard.perChunk) * Page.BUCKET;
            return true;
        }

        Item once() {
            long split = page.split(shard);
            int level = (int) (split >>> 32) & 31;
            long number = hash & (1L << level) - 1;
            if (number < (split & 0xffffffffL)) {
                number = hash & (2L << level) - 1;
            }
            boolean found = seekBucket(number, false);
            for (int i = 0; found && i < CHAIN_MOST; i++) {
                ByteBuffer bucket = memory;
                int at = offset;
                Item item = readBucket(bucket, at);
                if (item != null) {
                    return item;
                }
                long link = Words.acquire32(bucket, at + OVERFLOW) & 0xffffffffL;
                found = link != 0 && seekBucket(link - 1, true);
            }
            return null;
        }

        private Item readBucket(ByteBuffer bucket, int at) {
            for (int i = 0; i < ENTRIES; i++) {
                long entry = Words.acquire64(bucket, at + 8 * i);
                if (entry != 0 && entry >>> 48 == hash >>> 48) {
                    Item item = readItem(bucket, at + 8 * i, entry);
                    if (item != null) {
                        return item;
                    }
                }
            }
            return null;
        }

        /** The item that an entry refers to; null: not this one, or it changed. */
        private Item readItem(ByteBuffer bucket, int slot, long entry) {
            if (!seek((entry >>> 12 & POSITION_MASK) * 8, HEADER)) {
                return null;
            }
            int wordAt = (offset >>> Page.GRAIN_SHIFT) * 4;
            int generation = Words.acquire32(memory, wordAt);
            int lengths = Words.opaque32(memory, offset + 4);
            int keyBytes = lengths & 0xff;
            int marks = lengths >>> 8 & 0xff;
            int heat = lengths >>> 24;
            int flags = Words.opaque32(memory, offset + 8);
            int valueBytes = Words.opaque32(memory, offset + 12);
            long expiry = Words.opaque32(memory, offset + 16) & 0xffffffffL;
            long cas = Words.opaque64(memory, offset + 24);
            long created = Words.opaque32(memory, offset + 32) & 0xffffffffL;
            if (Words.opaque32(memory, offset) != generation || (entry & GENERATION_MASK) != (generation & GENERATION_MASK)
                || keyBytes != key.length || valueBytes < 0 || valueBytes > VALUE_MOST
                || (long) offset + HEADER + keyBytes + valueBytes > memory.capacity() || !isKey()) {
                return null;
            }
            ByteBuffer to = room.of(valueBytes);
            if (to == null) {
                return null;
            }
            to.put(to.position(), memory, offset + HEADER + keyBytes, valueBytes);
            long now = page.now();
            boolean shown = marks == 0 && (expiry == 0 || expiry > now) && page.isKept(shard, now, created);
            VarHandle.acquireFence(); // all bytes were read before the words below
            if (!shown || Words.opaque32(memory, wordAt) != generation || Words.opaque64(bucket, slot) != entry) {
                return null;
            }
            boolean counted = heat >= COUNTED_READS || !page.isScarce(); // else the server is to know that it was read
            return counted ? new Item(valueBytes, flags, page.casShown ? cas : 0) : null;
        }

        private boolean isKey() {
            for (int i = 0; i < key.length; i++) {
                if (memory.get(offset + HEADER + i) != key[i]) {
                    return false;
                }
            }
            return true;
        }
    }
}
