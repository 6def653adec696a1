// SPDX-License-Identifier: Apache-2.0
package org.verbena.core.greeting;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

class GreeterTest {
    private static final long START = -7; // times of System.nanoTime may be negative

    private int asked;
    private final Greeter<String> greeter = new Greeter<>(41, 3, () -> new byte[] {(byte) ++asked});

    private ByteBuffer token(String to, long now) {
        return ByteBuffer.wrap(greeter.greet(to, now).token());
    }

    @Test
    void a_greeting_names_service_and_the_engine_for_this_client() {
        int before = asked;
        Greeting greeting = greeter.greet("somebody");
        assertEquals(41, greeting.messages());
        assertEquals(3, greeting.service());
        assertArrayEquals(new byte[] {(byte) (before + 1)}, greeting.engine());
        assertArrayEquals(new byte[] {(byte) (before + 2)}, greeter.greet("somebody else").engine());
        assertThrows(IllegalArgumentException.class, () -> new Greeter<>(41, 3, () -> new byte[1025]),
            "refused at the start, and not at the first client");
    }

    @Test
    void a_token_tells_whose_it_is_once_and_for_ten_minutes() {
        ByteBuffer first = token("first", START);
        ByteBuffer late = token("late", START);
        assertEquals("first", greeter.claim(first, START + Greeter.KEPT - 1));
        assertNull(greeter.claim(first, START + Greeter.KEPT - 1));
        assertNull(greeter.claim(late, START + Greeter.KEPT));
    }

    @Test
    void what_is_no_token_is_nobodys() {
        byte[] good = greeter.greet("somebody", START).token();
        for (int length : new int[] {0, 15, 17, 4096}) {
            assertNull(greeter.claim(ByteBuffer.allocate(length), START), length + " bytes");
        }
        byte[] near = good.clone();
        near[15] ^= 1;
        assertNull(greeter.claim(ByteBuffer.wrap(near), START));
        ByteBuffer shown = ByteBuffer.allocate(20).put(2, good).position(2).limit(18);
        assertEquals("somebody", greeter.claim(shown, START));
        assertEquals(2, shown.position());
    }

    @Test
    void the_newest_tokens_are_kept_and_old_ones_make_room() {
        List<ByteBuffer> all = new ArrayList<>();
        for (int i = 0; i <= Greeter.MOST; i++) {
            assertEquals(i >= Greeter.MOST, greeter.isFull(), "after " + i);
            all.add(token("client " + i, START));
        }
        assertNull(greeter.claim(all.get(0), START));
        assertEquals("client 1", greeter.claim(all.get(1), START));
        assertFalse(greeter.isFull());
        token("much later", START + Greeter.KEPT);
        assertNull(greeter.claim(all.get(2), START), "gone with all of its age");
        assertNull(greeter.claim(all.get(Greeter.MOST), START));
    }

    @Test
    void who_is_given_a_greeting_cannot_change_which_token_is_good() {
        Greeting greeting = greeter.greet("somebody", START);
        ByteBuffer good = ByteBuffer.wrap(greeting.token().clone());
        greeting.token()[0] ^= 1;
        assertNull(greeter.claim(ByteBuffer.wrap(greeting.token()), START));
        assertEquals("somebody", greeter.claim(good, START));
    }
}
