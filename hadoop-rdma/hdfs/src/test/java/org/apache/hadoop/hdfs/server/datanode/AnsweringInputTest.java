// SPDX-License-Identifier: Apache-2.0
package org.apache.hadoop.hdfs.server.datanode;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;

import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.verbena.hadoop.net.Peeked;

/** The first byte behind a request's length says whether it is answered here: 'a' is. */
class AnsweringInputTest {
    private static final byte[] STATUS = {2, 8, 6};
    private static final byte[] WRITE = {0, 28, 80, 3, 1, 2, 3};
    private static final byte[] HANDSHAKE = {(byte) 0xde, (byte) 0xad, (byte) 0xbe, (byte) 0xef, 1, 2};

    private final List<Integer> answered = new ArrayList<>();
    private int rests;

    private static byte[] read(char kind, int length) {
        ByteArrayOutputStream out = new ByteArrayOutputStream();
        out.writeBytes(new byte[] {0, 28, 81});
        for (int left = length; ; left >>>= 7) {
            out.write(left < 128 ? left : left & 0x7f | 0x80);
            if (left < 128) {
                break;
            }
        }
        byte[] body = new byte[length];
        Arrays.fill(body, (byte) kind);
        out.writeBytes(body);
        return out.toByteArray();
    }

    private static byte[] all(byte[]... parts) {
        ByteArrayOutputStream out = new ByteArrayOutputStream();
        for (byte[] part : parts) {
            out.writeBytes(part);
        }
        return out.toByteArray();
    }

    /** What Hadoop gets, whatever pieces the bytes come in. */
    private void assertLeft(byte[] expected, byte[]... parts) throws IOException {
        byte[] bytes = all(parts);
        for (int most : new int[] {1, 2, 3, 7, 512, bytes.length}) {
            answered.clear();
            rests = 0;
            AnsweringInput in = new AnsweringInput(Peeked.of(new ByteArrayInputStream(bytes) {
                @Override
                public int read(byte[] into, int offset, int length) {
                    return super.read(into, offset, Math.min(most, length));
                }
            }), new AnsweringInput.Reads() {
                @Override
                public boolean answer(byte[] request) {
                    if (request[0] == 'a') {
                        answered.add(request.length);
                    }
                    return request[0] == 'a';
                }

                @Override
                public void leave() {
                    // the bytes show it
                }

                @Override
                public void rest() {
                    rests++;
                }
            });
            assertArrayEquals(expected, in.readAllBytes(), "in pieces of " + most);
        }
    }

    @Test
    void requests_that_are_answered_and_their_statuses_do_not_reach_hadoop() throws IOException {
        assertLeft(new byte[0], read('a', 100), STATUS, read('a', 130), STATUS, read('a', 1));
        assertEquals(List.of(100, 130, 1), answered);
        assertEquals(2, rests);
    }

    @Test
    void other_reads_reach_hadoop_with_their_statuses_between_those_that_are_answered() throws IOException {
        assertLeft(all(read('h', 200), STATUS, read('h', 3), STATUS), read('h', 200), STATUS, read('a', 9), STATUS, read('h', 3),
            STATUS);
        assertEquals(List.of(9), answered);
    }

    @Test
    void from_another_request_on_all_is_hadoops() throws IOException {
        byte[] rest = all(WRITE, read('a', 10), STATUS);
        assertLeft(rest, read('a', 5), STATUS, rest);
        assertEquals(List.of(5), answered);
    }

    @Test
    void a_handshake_and_all_that_follows_is_hadoops() throws IOException {
        byte[] rest = all(HANDSHAKE, read('a', 10));
        assertLeft(rest, rest);
        assertEquals(List.of(), answered);
    }

    @Test
    void a_request_of_another_version_or_without_end_is_hadoops() throws IOException {
        assertLeft(new byte[] {0, 27, 81, 1, 'a'}, new byte[] {0, 27, 81, 1, 'a'});
        byte[] endless = {0, 28, 81, -1, -1, -1, -1, 15, 'a', 'a'};
        assertLeft(endless, endless);
        byte[] unending = {0, 28, 81, -1, -1, -1, -1, -1, -1, -1, 'a'};
        assertLeft(unending, unending);
        byte[] cut = Arrays.copyOf(read('a', 50), 20);
        assertLeft(cut, cut);
        assertLeft(new byte[] {0, 28}, new byte[] {0, 28});
        assertLeft(new byte[] {0, 28, 81}, new byte[] {0, 28, 81});
        assertEquals(List.of(), answered);
    }
}
