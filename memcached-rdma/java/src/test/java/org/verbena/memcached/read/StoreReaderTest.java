// SPDX-License-Identifier: Apache-2.0
package org.verbena.memcached.read;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.util.Random;
import org.junit.jupiter.api.Test;

/** A store of one item, made by hand as ../../store has it, and what becomes of a get when any word of it is another one. */
class StoreReaderTest {
    private static final byte[] KEY = "a key of more than eight bytes".getBytes(StandardCharsets.UTF_8);
    private static final byte[] VALUE = "the value".getBytes(StandardCharsets.UTF_8);
    private static final int PAGE_BYTES = 1024;
    private static final int MEMORY_BYTES = 16 << 10;
    private static final int BUCKETS = 64;
    private static final int ITEM = 3 << 12; // in grain 3; buckets are in grain 1, an overflow bucket in grain 2
    private static final int GENERATION = 0x12345;
    private static final int SHARD = 112;
    private static final int MEMORY_KEY = SHARD + 48;
    private static final int NUMBERS = MEMORY_KEY + 132;

    private final ByteBuffer page = direct(PAGE_BYTES);
    private final ByteBuffer memory = direct(MEMORY_BYTES);
    private final int bucket;

    StoreReaderTest() {
        page.putLong(0, 0x3530565f434d4256L).putLong(8, 77).putLong(16, System.nanoTime()).putInt(24, 10).putInt(28, 1);
        page.putInt(32, 0).putInt(36, 1);
        page.putInt(40, SHARD).putInt(44, MEMORY_KEY).putInt(48, NUMBERS).putInt(52, PAGE_BYTES).putInt(56, 1);
        page.putInt(60, 26).putInt(64, 1).putInt(72, 4711);
        page.putLong(SHARD, 6L << 32).putInt(SHARD + 16, 1).putInt(SHARD + 20, 1).putInt(SHARD + 28, 1).putInt(SHARD + 32, 1);
        page.putInt(SHARD + 36, 1).putInt(SHARD + 40, BUCKETS).putInt(MEMORY_KEY, 5).putInt(NUMBERS, 1).putInt(NUMBERS + 4, 2);
        long hash = Hash.of(77, KEY);
        bucket = (1 << 12) + (int) (hash & BUCKETS - 1) * 64;
        memory.putLong(bucket + 8, hash >>> 48 << 48 | ITEM / 8L << 12 | GENERATION & 0xfff);
        memory.putInt(3 * 4, GENERATION).putInt(ITEM, GENERATION).put(ITEM + 4, (byte) KEY.length).putInt(ITEM + 8, 5);
        memory.putInt(ITEM + 12, VALUE.length).putLong(ITEM + 24, 99).putInt(ITEM + 32, 3);
        memory.put(ITEM + 40, KEY).put(ITEM + 40 + KEY.length, VALUE);
    }

    private static ByteBuffer direct(int bytes) {
        return ByteBuffer.allocateDirect(bytes).order(ByteOrder.nativeOrder());
    }

    private static byte[] get(ByteBuffer page, ByteBuffer memory) {
        byte[][] value = new byte[1][];
        StoreReader.Item item = new StoreReader(page, number -> memory).get(KEY, length -> {
            value[0] = new byte[length];
            return ByteBuffer.wrap(value[0]);
        });
        return item == null ? null : value[0];
    }

    private byte[] get() {
        return get(page, memory);
    }

    @Test
    void an_item_is_read_with_its_flags_and_its_cas_id() {
        StoreReader.Item item = new StoreReader(page, number -> memory).get(KEY, length -> ByteBuffer.allocate(length));
        assertEquals(new StoreReader.Item(VALUE.length, 5, 99), item);
        assertArrayEquals(VALUE, get());
        page.putInt(36, 0);
        assertEquals(0, new StoreReader(page, number -> memory).get(KEY, length -> ByteBuffer.allocate(length)).cas());
        assertNull(new StoreReader(page, number -> memory).get(new byte[] {'x'}, length -> ByteBuffer.allocate(length)));
        assertNull(new StoreReader(page, number -> memory).get(KEY, length -> null));
        assertNull(new StoreReader(page, number -> null).get(KEY, length -> ByteBuffer.allocate(length)));
    }

    @Test
    void an_item_in_an_overflow_bucket_is_read() {
        memory.putLong(2 << 12, memory.getLong(bucket + 8)).putLong(bucket + 8, 0).putInt(bucket + 60, 1);
        assertArrayEquals(VALUE, get());
    }

    @Test
    void a_chain_in_a_circle_ends() {
        memory.putLong(bucket + 8, 0).putInt(bucket + 60, 1).putInt((2 << 12) + 60, 1);
        assertNull(get());
    }

    @Test
    void items_that_are_expired_flushed_or_marked_are_not_shown() {
        memory.putInt(ITEM + 16, 10);
        assertNull(get(), "expired at the tick");
        memory.putInt(ITEM + 16, 1 << 30);
        assertArrayEquals(VALUE, get());
        memory.put(ITEM + 5, (byte) 1);
        assertNull(get(), "stale");
        memory.put(ITEM + 5, (byte) 0);
        page.putInt(SHARD + 8, 3);
        assertNull(get(), "flushed by time");
        page.putInt(SHARD + 8, 2).putInt(SHARD + 12, 10);
        assertNull(get(), "a flush that has come");
        page.putInt(SHARD + 12, 3);
        assertNull(get(), "a flush that has come hides what was created since the last one");
        page.putInt(SHARD + 12, 1 << 30);
        assertArrayEquals(VALUE, get(), "a flush that is to come");
    }

    @Test
    void reused_bytes_are_not_shown() {
        memory.putInt(3 * 4, GENERATION + 1);
        assertNull(get(), "another generation of the grain");
        memory.putInt(3 * 4, GENERATION + 0x1000).putInt(ITEM, GENERATION);
        assertNull(get(), "the entry's bits of the generation are the same");
    }

    /** The room is asked for between the checks and the copy. */
    private StoreReader.Item getWhile(Runnable change) {
        return new StoreReader(page, number -> memory).get(KEY, length -> {
            change.run();
            return ByteBuffer.allocate(length);
        });
    }

    @Test
    void a_change_during_the_copy_is_seen() {
        long entry = memory.getLong(bucket + 8);
        assertEquals(VALUE.length, getWhile(() -> { }).valueBytes());
        assertNull(getWhile(() -> memory.putLong(bucket + 8, entry + (1L << 12))), "the entry refers to another item");
        memory.putLong(bucket + 8, entry);
        assertNull(getWhile(() -> memory.putInt(3 * 4, GENERATION + 0x1000)), "the grain is used again");
        memory.putInt(3 * 4, GENERATION);
        assertNull(getWhile(() -> page.putInt(SHARD + 8, 3)), "a flush has come");
        page.putInt(SHARD + 8, 0);
        assertNull(getWhile(() -> memory.putLong(bucket + 8, 0)), "the item is removed");
    }

    @Test
    void a_dead_server_is_not_read() {
        for (int word : new int[] {0, 0x40000000 | 4711, 0x80000000}) {
            page.putInt(72, word);
            assertNull(get());
            assertFalse(new StoreReader(page, number -> memory).isAlive());
        }
    }

    @Test
    void the_server_is_told_of_reads_while_memory_is_scarce() {
        page.putInt(68, 1);
        assertNull(get());
        memory.put(ITEM + 7, (byte) 2);
        assertArrayEquals(VALUE, get());
    }

    @Test
    void pages_and_memories_of_any_length_are_refused_or_read() {
        for (int bytes = 0; bytes < PAGE_BYTES; bytes++) {
            ByteBuffer part = page.slice(0, bytes);
            assertThrows(IllegalArgumentException.class, () -> new StoreReader(part, number -> memory), "of " + bytes + " bytes");
        }
        for (int bytes = 0; bytes < MEMORY_BYTES; bytes++) {
            byte[] value = get(page, memory.slice(0, bytes));
            assertEquals(bytes >= ITEM + 40 + KEY.length + VALUE.length, value != null, "of " + bytes + " bytes");
        }
    }

    @Test
    void any_words_in_any_place_lead_to_nothing_worse_than_a_question() {
        Random random = new Random(5);
        int[] words = {0, 1, 2, 3, 63, 64, 255, 4095, 4096, 1 << 20, 1 << 26, 1 << 30, Integer.MAX_VALUE, -1, -8, 1 << 31};
        byte[] rightPage = new byte[NUMBERS + 8];
        byte[] rightMemory = new byte[MEMORY_BYTES];
        page.get(0, rightPage);
        memory.get(0, rightMemory);
        int hits = 0;
        for (int i = 0; i < 100_000; i++) {
            for (int j = random.nextInt(3); j >= 0; j--) {
                int at = switch (random.nextInt(4)) {
                    case 0 -> -1 - random.nextInt(rightPage.length / 4);
                    case 1 -> bucket / 4 + random.nextInt(16);
                    case 2 -> random.nextInt(4);
                    default -> ITEM / 4 + random.nextInt(10);
                };
                int word = random.nextBoolean() ? words[random.nextInt(words.length)] : random.nextInt();
                if (at < 0) {
                    page.putInt((-1 - at) * 4, word);
                } else {
                    memory.putInt(at * 4, word);
                }
            }
            try {
                hits += get() == null ? 0 : 1;
            } catch (IllegalArgumentException e) {
                assertTrue(e.getMessage().startsWith("the page of the server's store makes no sense"), e.getMessage());
            }
            page.put(0, rightPage);
            memory.put(0, rightMemory);
        }
        assertTrue(hits > 0, "some words do not matter");
    }
}
