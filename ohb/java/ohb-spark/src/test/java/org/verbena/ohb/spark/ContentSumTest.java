// SPDX-License-Identifier: Apache-2.0
// The checksum that decides whether two sides produced the same data.
package org.verbena.ohb.spark;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;

import java.util.ArrayList;
import java.util.Collections;
import java.util.HashSet;
import java.util.List;
import java.util.Random;
import java.util.Set;
import org.junit.jupiter.api.Test;

class ContentSumTest {
    private static byte[] bytes(int length, long seed) {
        byte[] value = new byte[length];
        new Random(seed).nextBytes(value);
        return value;
    }

    private static String sum(List<byte[]> values) {
        ContentSum sum = new ContentSum();
        values.forEach(value -> sum.add(7, value));
        return sum.hex();
    }

    @Test
    void order_and_grouping_do_not_matter() {
        List<byte[]> values = new ArrayList<>();
        for (int i = 0; i < 100; i++) {
            values.add(bytes(i, i));
        }
        String forward = sum(values);
        Collections.reverse(values);
        assertEquals(forward, sum(values));
        ContentSum left = new ContentSum();
        ContentSum right = new ContentSum();
        for (int i = 0; i < 100; i++) {
            (i % 3 == 0 ? left : right).add(7, values.get(i));
        }
        assertEquals(forward, left.merge(right).hex());
        assertEquals(100, left.records());
    }

    @Test
    void every_flipped_bit_changes_both_halves() {
        byte[] value = bytes(37, 1);
        Set<String> firsts = new HashSet<>();
        Set<String> seconds = new HashSet<>();
        for (int bit = -1; bit < value.length * 8; bit++) {
            byte[] changed = value.clone();
            if (bit >= 0) {
                changed[bit / 8] ^= (byte) (1 << bit % 8);
            }
            String hex = sum(List.of(changed));
            firsts.add(hex.substring(0, 16));
            seconds.add(hex.substring(16));
        }
        assertEquals(37 * 8 + 1, firsts.size());
        assertEquals(37 * 8 + 1, seconds.size());
    }

    @Test
    void a_doubled_record_a_lost_record_and_a_moved_key_are_seen() {
        byte[] value = bytes(100, 2);
        byte[] other = bytes(100, 3);
        assertNotEquals(sum(List.of(value)), sum(List.of(value, value, value)));
        assertNotEquals(sum(List.of(value, other)), sum(List.of(value)));
        ContentSum swapped = new ContentSum();
        swapped.add(1, value);
        swapped.add(2, other);
        ContentSum straight = new ContentSum();
        straight.add(2, value);
        straight.add(1, other);
        assertNotEquals(swapped.hex(), straight.hex());
    }

    @Test
    void trailing_zero_bytes_count() {
        assertNotEquals(sum(List.of(new byte[8])), sum(List.of(new byte[16])));
        assertNotEquals(sum(List.of(new byte[0])), sum(List.of(new byte[1])));
    }

    @Test
    void a_number_pair_is_told_from_its_mirror_image() {
        ContentSum one = new ContentSum();
        one.add(3, 5L);
        ContentSum two = new ContentSum();
        two.add(5, 3L);
        assertNotEquals(one.hex(), two.hex());
    }
}
