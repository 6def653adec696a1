// SPDX-License-Identifier: Apache-2.0
package org.verbena.netty;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.Arrays;
import java.util.Random;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;

/** What a client reads from a TCP address, also mutated. */
@ExtendWith(TestWatch.class)
class GreetingTest {
    private static final Greeting GOOD = new Greeting(40_000, Rig.pattern(16, 1), Rig.pattern(100, 2));

    private static byte[] bytes(Greeting greeting) {
        return greeting.encode().array();
    }

    private static void assertSame(Greeting wanted, Greeting got) {
        assertEquals(wanted.service(), got.service());
        assertArrayEquals(wanted.token(), got.token());
        assertArrayEquals(wanted.engine(), got.engine());
    }

    @Test
    void it_comes_back_whole_and_is_incomplete_before() throws Exception {
        byte[] good = bytes(GOOD);
        for (int length = 0; length < good.length; length++) {
            assertNull(Greeting.decode(ByteBuffer.wrap(good, 0, length)), "of " + length + " bytes");
        }
        assertSame(GOOD, Greeting.decode(ByteBuffer.wrap(good)));
        Greeting longest = new Greeting(0, new byte[16], new byte[Greeting.ENGINE_MAX]);
        assertSame(longest, Greeting.decode(longest.encode()));
        assertEquals(Greeting.MAX, longest.encode().remaining());
    }

    @Test
    void lengths_are_bounded() {
        assertThrows(IllegalArgumentException.class, () -> new Greeting(1, new byte[16], new byte[1025]).encode());
        assertThrows(IllegalArgumentException.class, () -> new Greeting(1, new byte[15], new byte[10]).encode());
        for (int length : new int[] {0, 1025, 65535}) {
            ByteBuffer wrong = GOOD.encode().putShort(6, (short) length);
            assertThrows(IOException.class, () -> Greeting.decode(wrong));
        }
        assertThrows(IOException.class, () -> Greeting.decode(ByteBuffer.wrap(Arrays.copyOf(bytes(GOOD), 127))));
    }

    @Test
    void another_version_names_the_cure() {
        ByteBuffer other = GOOD.encode().putShort(4, (short) 2);
        String text = assertThrows(IOException.class, () -> Greeting.decode(other)).getMessage();
        assertTrue(text.contains("version 2") && text.contains("use the same version"), text);
    }

    @Test
    void mutated_greetings_are_refused_incomplete_or_within_bounds() {
        Random random = new Random(3);
        byte[] good = bytes(GOOD);
        int refused = 0;
        int incomplete = 0;
        for (int i = 0; i < 200_000; i++) {
            byte[] bytes = random.nextInt(3) == 0 ? Arrays.copyOf(good, random.nextInt(good.length + 20)) : good.clone();
            for (int n = random.nextInt(4); n > 0 && bytes.length > 0; n--) {
                bytes[random.nextInt(random.nextBoolean() ? Math.min(bytes.length, 10) : bytes.length)] =
                    (byte) random.nextInt();
            }
            try {
                Greeting greeting = Greeting.decode(ByteBuffer.wrap(bytes));
                incomplete += greeting == null ? 1 : 0;
                assertTrue(greeting == null || greeting.engine().length + 26 == bytes.length);
            } catch (IOException e) {
                refused++;
            }
        }
        assertTrue(refused > 20_000 && incomplete > 20_000, refused + " refused, " + incomplete + " incomplete");
    }
}
