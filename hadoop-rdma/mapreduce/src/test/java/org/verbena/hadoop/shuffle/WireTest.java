// SPDX-License-Identifier: Apache-2.0
package org.verbena.hadoop.shuffle;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.ByteBuffer;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.verbena.core.VbnException;

/** Messages of the shuffle, as they are and mutated. */
class WireTest {
    private static final int ROUNDS = 100_000;

    /** The bytes cut off or extended, with some of them changed. */
    private static ByteBuffer mutated(ByteBuffer good, Random random) {
        byte[] bytes = new byte[random.nextInt(good.limit() + 20)];
        good.duplicate().get(bytes, 0, Math.min(bytes.length, good.limit()));
        for (int n = random.nextInt(4); n > 0 && bytes.length > 0; n--) {
            bytes[random.nextInt(bytes.length)] = (byte) random.nextInt();
        }
        return ByteBuffer.wrap(bytes);
    }

    @Test
    void messages_come_back_as_they_were_sent() throws Exception {
        assertEquals(new Wire.Header(3, 5, 1L << 40), Wire.header(Wire.header(3, 5, 1L << 40)));
        List<Wire.Range> ranges = List.of(new Wire.Range("attempt_1_0001_m_000001_0", 7, 1L << 33), new Wire.Range("", 0, 0));
        assertEquals(ranges, Wire.ranges(Wire.ranges(ranges)));
        List<Wire.Size> sizes = List.of(new Wire.Size(-1, 0), new Wire.Size(1L << 33, 9));
        assertEquals(sizes, Wire.sizes(Wire.sizes(sizes), 2));
        assertEquals("disk full", Wire.cause(Wire.cause("disk full")));
    }

    @Test
    void mutated_headers_are_refused_or_read() {
        Random random = new Random(1);
        int refused = 0;
        for (int i = 0; i < ROUNDS; i++) {
            try {
                Wire.header(mutated(Wire.header(1, 2, 3), random));
            } catch (VbnException e) {
                refused++;
            }
        }
        assertTrue(refused > ROUNDS / 2, "most have another length: " + refused);
    }

    @Test
    void mutated_ranges_are_refused_or_within_bounds() {
        Random random = new Random(2);
        ByteBuffer good = Wire.ranges(List.of(new Wire.Range("attempt_a", 1, 2), new Wire.Range("attempt_b", 3, 4)));
        int refused = 0;
        for (int i = 0; i < ROUNDS; i++) {
            try {
                long sum = 0;
                for (Wire.Range range : Wire.ranges(mutated(good, random))) {
                    assertTrue(range.first() >= 0 && range.length() >= 0);
                    sum += range.length();
                    assertTrue(sum >= 0, "lengths of a request do not overflow");
                }
            } catch (VbnException e) {
                refused++;
            }
        }
        assertTrue(refused > ROUNDS / 2, "most are cut off or damaged: " + refused);
    }

    @Test
    void more_ranges_than_a_request_may_have_are_refused() throws Exception {
        List<Wire.Range> most = IntStream.range(0, Wire.MAX_RANGES).mapToObj(i -> new Wire.Range("a", i, 1)).toList();
        assertEquals(most, Wire.ranges(Wire.ranges(most)));
        List<Wire.Range> more = IntStream.rangeClosed(0, Wire.MAX_RANGES).mapToObj(i -> new Wire.Range("a", i, 1)).toList();
        assertThrows(VbnException.class, () -> Wire.ranges(Wire.ranges(more)));
    }

    @Test
    void mutated_sizes_are_refused_or_within_bounds() {
        Random random = new Random(3);
        ByteBuffer good = Wire.sizes(List.of(new Wire.Size(1, 2), new Wire.Size(3, 4)));
        int refused = 0;
        for (int i = 0; i < ROUNDS; i++) {
            try {
                for (Wire.Size size : Wire.sizes(mutated(good, random), 2)) {
                    assertTrue(size.part() >= -1 && size.raw() >= 0);
                }
            } catch (VbnException e) {
                refused++;
            }
        }
        assertTrue(refused > ROUNDS / 2, "most have another length: " + refused);
    }

    @Test
    void places_come_back_as_they_were_sent_as_many_as_there_is_space_for() throws Exception {
        Wire.Folder one = new Wire.Folder("00112233445566778899aabbccddeeff", "nodes/one");
        Wire.Folder two = new Wire.Folder("ffeeddccbbaa99887766554433221100", "nodes/two");
        List<Wire.Place> places = Arrays.asList(new Wire.Place(two, "a/file.out", 1L << 40), null, new Wire.Place(one, "b", 0));
        assertEquals(places, WirePlaces.read(WirePlaces.write(List.of(one, two), places), 3));
        String longest = "x".repeat(1000);
        List<Wire.Place> many = IntStream.range(0, Wire.MAX_RANGES).mapToObj(i -> new Wire.Place(one, longest + i, i)).toList();
        ByteBuffer written = WirePlaces.write(List.of(one), many);
        assertTrue(written.remaining() + Wire.MAX_RANGES * Wire.SIZE_BYTES <= Wire.MAX_REQUEST_BYTES);
        List<Wire.Place> found = WirePlaces.read(written, Wire.MAX_RANGES);
        assertEquals(many.subList(0, 50), found.subList(0, 50));
        assertNull(found.get(Wire.MAX_RANGES - 1));
    }

    @Test
    void mutated_places_are_refused_or_within_bounds() {
        Random random = new Random(4);
        Wire.Folder one = new Wire.Folder("00112233445566778899aabbccddeeff", "nodes/one");
        ByteBuffer good = WirePlaces.write(List.of(one), Arrays.asList(new Wire.Place(one, "a/b", 7), null));
        int refused = 0;
        for (int i = 0; i < ROUNDS; i++) {
            try {
                for (Wire.Place place : WirePlaces.read(mutated(good, random), 2)) {
                    assertTrue(place == null || place.offset() >= 0);
                }
            } catch (VbnException e) {
                refused++;
            }
        }
        assertTrue(refused > ROUNDS / 2, "most have another length: " + refused);
    }

    @Test
    void a_cause_cannot_write_lines_into_a_log() {
        assertEquals("a?b", Wire.cause(ByteBuffer.wrap(new byte[] {'a', '\n', 'b'})));
        assertTrue(Wire.cause(ByteBuffer.wrap(new byte[100_000])).length() <= Wire.MAX_CAUSE_BYTES);
    }
}
