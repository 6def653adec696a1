// SPDX-License-Identifier: Apache-2.0
package org.verbena.core.greeting;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.Random;
import org.junit.jupiter.api.Test;

/** What a client reads from a TCP address, and a server from a client; also mutated, and cut at every place. */
class GreetingTest {
    private static final int MESSAGES = 41;
    private static final int FIXED = 28;
    private static final Greeting GOOD = new Greeting(MESSAGES, 40_000, bytes(16, 1), bytes(100, 2));

    private static byte[] bytes(int count, int seed) {
        byte[] all = new byte[count];
        new Random(seed).nextBytes(all);
        return all;
    }

    private static Greeting read(byte[] bytes) throws IOException {
        return new GreetingReader(MESSAGES).take(ByteBuffer.wrap(bytes));
    }

    private static String refusal(ByteBuffer bytes) {
        return assertThrows(IOException.class, () -> new GreetingReader(MESSAGES).take(bytes)).getMessage();
    }

    private static void assertSame(Greeting wanted, Greeting got) {
        assertNotNull(got);
        assertEquals(wanted.messages(), got.messages());
        assertEquals(wanted.service(), got.service());
        assertArrayEquals(wanted.token(), got.token());
        assertArrayEquals(wanted.engine(), got.engine());
    }

    @Test
    void it_comes_back_whole_however_it_is_cut() throws Exception {
        byte[] good = GOOD.encode().array();
        for (int cut = 1; cut <= good.length; cut++) {
            GreetingReader reader = new GreetingReader(MESSAGES);
            for (int from = 0; from + cut < good.length; from += cut) {
                assertNull(reader.take(ByteBuffer.wrap(good, from, cut)), "cut after " + cut + ", at " + from);
            }
            int last = (good.length - 1) / cut * cut;
            assertSame(GOOD, reader.take(ByteBuffer.wrap(good, last, good.length - last)));
        }
        Greeting longest = new Greeting(MESSAGES, 0, new byte[16], new byte[Greeting.ENGINE_MAX]);
        assertSame(longest, read(longest.encode().array()));
    }

    @Test
    void parts_are_bounded_on_both_sides() {
        assertThrows(IllegalArgumentException.class, () -> new Greeting(1, 1, new byte[16], new byte[1025]).encode());
        assertThrows(IllegalArgumentException.class, () -> new Greeting(1, 1, new byte[16], new byte[0]).encode());
        assertThrows(IllegalArgumentException.class, () -> new Greeting(1, 1, new byte[15], new byte[10]).encode());
        assertThrows(IllegalArgumentException.class, () -> new Greeting(1, 65_536, new byte[16], new byte[10]).encode());
        assertThrows(IllegalArgumentException.class, () -> new Greeting(-1, 1, new byte[16], new byte[10]).encode());
        for (int length : new int[] {0, 1025, 65535}) {
            assertTrue(refusal(GOOD.encode().putShort(6, (short) length)).contains("an engine's address of " + length));
        }
        assertTrue(refusal(ByteBuffer.wrap(Arrays.copyOf(GOOD.encode().array(), FIXED + 101))).contains("of 129 bytes"));
        ByteBuffer endless = ByteBuffer.allocate(1 << 20).put(new Greeting(MESSAGES, 1, new byte[16], new byte[1024]).encode());
        assertTrue(refusal(endless.position(0)).contains("of 1053 bytes"), "no more than that is kept");
    }

    @Test
    void another_version_names_the_cure_as_soon_as_it_is_known() {
        for (int version : new int[] {0, 1, 3, 5, 65535}) {
            for (int come : new int[] {6, 7, FIXED, FIXED + 100}) {
                String text = refusal(GOOD.encode().putShort(4, (short) version).limit(come));
                assertTrue(text.contains("speaks version " + version + " ") && text.contains("use the same version"), text);
            }
        }
    }

    @Test
    void another_program_or_a_verbena_server_of_another_kind_is_said_to_be_one() {
        assertTrue(refusal(ByteBuffer.wrap("SSH-2.0".getBytes(StandardCharsets.US_ASCII))).contains("another program"));
        assertTrue(refusal(ByteBuffer.wrap("V!".getBytes(StandardCharsets.US_ASCII))).contains("another program"));
        String text = refusal(new Greeting(MESSAGES - 1, 1, new byte[16], new byte[10]).encode());
        assertTrue(text.contains("of another kind") && text.contains("messages 40, those wanted 41"), text);
    }

    @Test
    void a_connection_that_ends_early_is_told_with_what_had_come() throws Exception {
        GreetingReader reader = new GreetingReader(MESSAGES);
        assertTrue(reader.ended().getMessage().startsWith("the connection ended before a greeting came: the server is ending"));
        assertNull(reader.take(GOOD.encode().limit(9)));
        assertTrue(reader.ended().getMessage().contains("after 9 bytes"));
    }

    @Test
    void mutated_greetings_are_refused_incomplete_or_within_bounds() {
        Random random = new Random(3);
        byte[] good = GOOD.encode().array();
        int refused = 0;
        int incomplete = 0;
        for (int i = 0; i < 200_000; i++) {
            byte[] bytes = random.nextInt(3) == 0 ? Arrays.copyOf(good, random.nextInt(good.length + 20)) : good.clone();
            for (int n = random.nextInt(4); n > 0 && bytes.length > 0; n--) {
                bytes[random.nextInt(random.nextBoolean() ? Math.min(bytes.length, 12) : bytes.length)] =
                    (byte) random.nextInt();
            }
            try {
                Greeting greeting = read(bytes);
                incomplete += greeting == null ? 1 : 0;
                assertTrue(greeting == null || greeting.engine().length + FIXED == bytes.length);
            } catch (IOException e) {
                refused++;
            }
        }
        assertTrue(refused > 20_000 && incomplete > 20_000, refused + " refused, " + incomplete + " incomplete");
    }

    @Test
    void a_hello_is_known_by_its_letters_whatever_its_version_and_comes_whole() {
        byte[] good = Hello.encode().array();
        assertEquals(Hello.BYTES, good.length);
        for (int come = 0; come < good.length; come++) {
            assertEquals(Hello.Verdict.INCOMPLETE, Hello.look(ByteBuffer.wrap(good, 0, come)), come + " bytes");
        }
        assertEquals(Hello.Verdict.HELLO, Hello.look(Hello.encode()));
        assertEquals(Hello.Verdict.HELLO, Hello.look(Hello.encode().putShort(4, (short) 9)), "its client refuses our greeting");
        byte[] more = Arrays.copyOf(good, 4096);
        assertEquals(Hello.Verdict.HELLO, Hello.look(ByteBuffer.wrap(more)));
        for (String other : new String[] {"H", "VC", "VBNG\0\4", "VBVBNH\0\4"}) {
            assertEquals(Hello.Verdict.OTHER, Hello.look(ByteBuffer.wrap(other.getBytes(StandardCharsets.US_ASCII))), other);
        }
        ByteBuffer inTheMiddle = ByteBuffer.wrap(("xx" + new String(good, StandardCharsets.US_ASCII))
            .getBytes(StandardCharsets.US_ASCII)).position(2);
        assertEquals(Hello.Verdict.HELLO, Hello.look(inTheMiddle));
        assertEquals(2, inTheMiddle.position());
    }
}
