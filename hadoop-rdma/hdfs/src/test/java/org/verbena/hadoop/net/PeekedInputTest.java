// SPDX-License-Identifier: Apache-2.0
package org.verbena.hadoop.net;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;

import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.nio.ByteBuffer;
import org.junit.jupiter.api.Test;

/** Bytes that are looked at before they are read. */
class PeekedInputTest {
    private static final byte[] CONTENT = {0, 28, 80, 4, 5, 6, 7};

    /** Gives so many bytes at a time at most. */
    private static InputStream pieces(int most) {
        return new ByteArrayInputStream(CONTENT) {
            @Override
            public int read(byte[] bytes, int offset, int length) {
                return super.read(bytes, offset, Math.min(most, length));
            }
        };
    }

    @Test
    void what_was_seen_is_read_afterwards_and_once() throws IOException {
        for (int most = 1; most <= CONTENT.length; most++) {
            PeekedInput in = new PeekedInput(pieces(most));
            assertArrayEquals(new byte[] {0, 28, 80}, in.peek(3));
            assertArrayEquals(new byte[] {0, 28, 80}, in.peek(3));
            assertEquals(0, in.read());
            assertArrayEquals(new byte[] {28}, in.readNBytes(1));
            assertArrayEquals(new byte[] {80, 4, 5, 6, 7}, in.readAllBytes());
            assertEquals(-1, in.read());
        }
    }

    @Test
    void a_read_waits_for_no_more_than_was_seen() throws IOException {
        PeekedInput in = new PeekedInput(pieces(4));
        in.peek(3);
        assertEquals(4, in.read(new byte[100], 0, 100));
    }

    @Test
    void an_input_that_ends_before_gives_what_it_has() throws IOException {
        PeekedInput in = new PeekedInput(new ByteArrayInputStream(new byte[] {1, 2}));
        assertArrayEquals(new byte[] {1, 2}, in.peek(3));
        assertArrayEquals(new byte[] {1, 2}, in.readAllBytes());
    }

    @Test
    void a_buffer_gets_what_was_seen_and_nothing_else() throws IOException {
        PeekedInput in = new PeekedInput(pieces(5));
        ByteBuffer buffer = ByteBuffer.allocate(4);
        assertEquals(0, in.readSeen(buffer));
        in.peek(3);
        assertEquals(4, in.readSeen(buffer));
        assertEquals(1, in.readSeen(buffer.clear()));
        assertEquals(5, buffer.get(0));
        assertEquals(0, in.readSeen(buffer.clear()));
    }
}
