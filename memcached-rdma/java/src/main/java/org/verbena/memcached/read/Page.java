// SPDX-License-Identifier: Apache-2.0
package org.verbena.memcached.read;

import java.nio.ByteBuffer;

/**
 * The page of a store that readers without its lock know (../../store/published.h): constants, checked once, and words that
 * change. Any thread.
 */
final class Page {
    static final int GRAIN_SHIFT = 12;
    static final int BUCKET = 64;

    private static final long MAGIC = 0x3530565f434d4256L; // "VBMC_V05"
    private static final int HEAD = 112;
    private static final int CLOCK = 24;
    private static final int MEMORIES = 64;
    private static final int SCARCE = 68;
    private static final int ALIVE = 72; // a robust mutex, whose futex stands first
    private static final int DIED = 0x40000000;
    private static final int OWNER = 0x3fffffff;
    private static final int SHARD = 48;
    private static final int MEMORY = 132;
    private static final int KEY_MAX = 128;
    private static final int SHARDS_MAX = 64;
    private static final long MEMORY_BYTES = 64L << 20;
    private static final long CLOCK_START = 2;
    private static final long SECOND = 1_000_000_000;

    private final ByteBuffer page;
    final long seed;
    final int shardBits;
    final boolean casShown;
    final int memoryShift;
    /** Memories that the page has room for. */
    final int memoriesMost;
    private final long startedNanos;
    private final int memoriesAt;
    private final int numbersAt;
    private final Shard[] shards;

    /** What is constant of a shard, and where the rest is. */
    static final class Shard {
        private final int at;
        private final long chunksAt;
        private final long chunksMost;
        private final long overflowsAt;
        private final long overflowsMost;
        final long perChunk;

        Shard(ByteBuffer page, int at) {
            this.at = at;
            chunksAt = unsigned(page, at + 24);
            chunksMost = unsigned(page, at + 28);
            overflowsAt = unsigned(page, at + 32);
            overflowsMost = unsigned(page, at + 36);
            perChunk = unsigned(page, at + 40);
        }

        boolean isRight(long numbers) {
            return perChunk > 0 && perChunk <= MEMORY_BYTES / BUCKET && chunksAt + chunksMost <= numbers
                && overflowsAt + overflowsMost <= numbers;
        }
    }

    private static long unsigned(ByteBuffer page, int at) {
        return Words.opaque32(page, at) & 0xffffffffL;
    }

    /**
     * Looks at a page.
     *
     * @throws IllegalArgumentException when it makes no sense
     */
    Page(ByteBuffer page) {
        this.page = page;
        check(page.capacity() >= HEAD && Words.opaque64(page, 0) == MAGIC);
        seed = Words.opaque64(page, 8);
        startedNanos = Words.opaque64(page, 16);
        long count = unsigned(page, 28);
        long bits = unsigned(page, 32);
        casShown = unsigned(page, 36) != 0;
        long shardsAt = unsigned(page, 40);
        long memories = unsigned(page, 44);
        long numbers = unsigned(page, 48);
        long bytes = unsigned(page, 52);
        long most = unsigned(page, 56);
        long shift = unsigned(page, 60);
        check(bytes <= page.capacity() && bits <= 6 && count == 1L << bits && count <= SHARDS_MAX);
        check(shardsAt >= HEAD && shardsAt <= memories && memories - shardsAt >= count * SHARD && memories <= numbers
            && numbers <= bytes);
        check(shardsAt % 8 == 0 && memories % 4 == 0 && numbers % 4 == 0);
        check(shift > GRAIN_SHIFT && shift < 48 && most == (numbers - memories) / MEMORY);
        shardBits = (int) bits;
        memoriesAt = (int) memories;
        numbersAt = (int) numbers;
        memoriesMost = (int) most;
        memoryShift = (int) shift;
        shards = new Shard[(int) count];
        for (int i = 0; i < shards.length; i++) {
            shards[i] = new Shard(page, (int) shardsAt + i * SHARD);
            check(shards[i].isRight((bytes - numbers) / 4));
        }
    }

    private static void check(boolean right) {
        if (!right) {
            throw new IllegalArgumentException("the page of the server's store makes no sense, or is of another version");
        }
    }

    /** False: the server has ended, and nothing of it may be read any more. */
    boolean isAlive() {
        int word = Words.acquire32(page, ALIVE);
        return (word & DIED) == 0 && (word & OWNER) != 0;
    }

    /** Half of the memory has been in use: it matters which items are read. */
    boolean isScarce() {
        return Words.opaque32(page, SCARCE) != 0;
    }

    /** Second of the store's clock. HotSpot's nanoTime is CLOCK_MONOTONIC, as the server's; its tick is at most a second late. */
    long now() {
        long ticked = unsigned(page, CLOCK);
        long nanos = System.nanoTime() - startedNanos;
        return Math.max(ticked, nanos < 0 ? 0 : nanos / SECOND + CLOCK_START);
    }

    /** Memories that there are. */
    long memories() {
        return Words.acquire32(page, MEMORIES) & 0xffffffffL;
    }

    /** The key of a memory; null: there is none. */
    byte[] keyOf(int memory) {
        int at = memoriesAt + memory * MEMORY;
        int bytes = Words.acquire32(page, at);
        if (bytes <= 0 || bytes > KEY_MAX) {
            return null;
        }
        byte[] key = new byte[bytes];
        page.get(at + 4, key);
        return key;
    }

    Shard shard(int number) {
        return shards[number];
    }

    /** Level of the index in the upper half, split point in the lower one. */
    long split(Shard shard) {
        return Words.acquire64(page, shard.at);
    }

    /** Position of the buckets of a chunk; -1: there is no such chunk. */
    long chunk(Shard shard, long chunk, boolean overflow) {
        long count = Words.acquire32(page, shard.at + (overflow ? 20 : 16)) & 0xffffffffL;
        if (chunk >= count || chunk >= (overflow ? shard.overflowsMost : shard.chunksMost)) {
            return -1;
        }
        long number = (overflow ? shard.overflowsAt : shard.chunksAt) + chunk;
        return unsigned(page, (int) (numbersAt + 4 * number)) << GRAIN_SHIFT;
    }

    /**
     * Whether no flush has removed an item: the twin of published_flush(). A flush that comes hides at least what was created
     * since the last one. flush_next is read before flush_time, which is written first.
     */
    boolean isKept(Shard shard, long now, long created) {
        long next = Words.acquire32(page, shard.at + 12) & 0xffffffffL;
        long flushed = Words.acquire32(page, shard.at + 8) & 0xffffffffL;
        return created > (next == 0 || next > now ? flushed : Math.max(next - 1, flushed + 1));
    }
}
