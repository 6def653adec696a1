// SPDX-License-Identifier: Apache-2.0
package org.verbena.memcached.wire;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.net.ProtocolException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.Base64;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.Test;

class DecodersTest {
    @Test
    void lines_of_answers_are_read() throws Exception {
        assertEquals(new MetaLine("VA", 5, 7, -1, -2), MetaLine.parse("VA 5 f4294967295 c18446744073709551614 O7"));
        assertEquals(new MetaLine("HD", -1, 3, 0, 0), MetaLine.parse("HD O3"));
        assertEquals(new MetaLine("MN", -1, -1, 0, 0), MetaLine.parse("MN"));
        assertEquals(new MetaLine("EN", -1, -1, 0, 0), MetaLine.parse("EN x W Z"));
    }

    @Test
    void lines_that_make_no_sense_are_refused() {
        for (String line : new String[] {"", "H", "HDR", "VA", "VA x", "VA -1", "VA 2147483646", "VA 99999999999999999999", "HD O",
            "HD Ox", "HD O-1", "HD O+1", "HD f1x", "HD c99999999999999999999", " HD", "\u00ff\u00ff\u00ff"}) {
            assertThrows(ProtocolException.class, () -> MetaLine.parse(line), line);
        }
    }

    @Test
    void lines_of_errors_are_known() {
        assertEquals(Answer.Status.TOO_LARGE, MetaLine.error("SERVER_ERROR object too large for cache").status());
        assertEquals(Answer.Status.NO_MEMORY, MetaLine.error("SERVER_ERROR out of memory storing object").status());
        assertEquals(Answer.Status.NON_NUMERIC,
            MetaLine.error("CLIENT_ERROR cannot increment or decrement non-numeric value").status());
        assertEquals(Answer.Status.INVALID, MetaLine.error("CLIENT_ERROR bad data chunk").status());
        assertEquals(Answer.Status.INVALID, MetaLine.error("ERROR").status());
        assertNull(MetaLine.error("HD"));
    }

    @Test
    void requests_are_written_as_meta_commands() {
        byte[] key = {'k'};
        assertEquals("mg k f c v O9\r\n", written(Request.of(Request.Kind.GET, key, 0), 0));
        assertEquals("mg k f c v T5 O9\r\n", written(Request.of(Request.Kind.GET_AND_TOUCH, key, 5), 0));
        assertEquals("mg k T-1 O9\r\n", written(Request.of(Request.Kind.TOUCH, key, -1), 0));
        assertEquals("md k O9\r\n", written(Request.of(Request.Kind.DELETE, key, 0), 0));
        assertEquals("ma k v D18446744073709551615 MD O9\r\n", written(Request.delta(Request.Kind.DECREMENT, key, -1), 0));
        assertEquals("ms k 3 F4294967295 T7 MA c O9\r\n", written(Request.put(Request.Mode.APPEND, key, 7, -1, 0), 3));
        assertEquals("ms k 3 F0 T0 MS C5 c O9\r\n", written(Request.put(Request.Mode.CAS, key, 0, 0, 5), 3));
        assertEquals("ms k 3 F1 T0 MS K c O9\r\n", written(Request.put(Request.Mode.SET, key, 0, 1, 0).pin(), 3));
        assertEquals("md k K O9\r\n", written(Request.release(key), 0));
        assertEquals("mg k f c v q O0\r\nmg k f c v q O1\r\nmn\r\n", written(Request.list(List.of(key, key)), 0));
    }

    private static String written(Request request, int valueBytes) {
        return new String(MetaRequest.write(request, 9, valueBytes), StandardCharsets.US_ASCII);
    }

    private static byte[] hello(int addressBytes, int keyBytes) {
        ByteBuffer bytes = ByteBuffer.allocate(32 + addressBytes + keyBytes).order(ByteOrder.LITTLE_ENDIAN);
        bytes.put(0, (byte) 1).put(1, (byte) 3).putShort(2, (short) addressBytes).put(4, (byte) keyBytes).putInt(16, 1000);
        Arrays.fill(bytes.array(), 32, 32 + addressBytes, (byte) 'a');
        return bytes.array();
    }

    private static Hello parse(byte[] bytes) throws ProtocolException {
        return Hello.parse(Hello.WORD + Base64.getEncoder().encodeToString(bytes));
    }

    @Test
    void a_hello_is_read_and_every_part_of_it_is_refused() throws Exception {
        byte[] whole = hello(40, 10);
        Hello hello = parse(whole);
        assertEquals(1000, hello.user());
        assertEquals(true, hello.devices() && hello.noAuth());
        assertArrayEquals("a".repeat(40).getBytes(StandardCharsets.US_ASCII), hello.address());
        for (int length = 0; length < whole.length; length++) {
            byte[] part = Arrays.copyOf(whole, length);
            assertThrows(ProtocolException.class, () -> parse(part), "of " + length + " bytes");
        }
        assertThrows(ProtocolException.class, () -> parse(Arrays.copyOf(whole, whole.length + 1)));
        assertThrows(ProtocolException.class, () -> parse(hello(0, 10)));
        assertThrows(ProtocolException.class, () -> parse(hello(1025, 0)));
        assertThrows(ProtocolException.class, () -> parse(hello(40, 129)));
        assertThrows(ProtocolException.class, () -> Hello.parse(Hello.WORD + "*"));
        whole[0] = 2;
        assertThrows(ProtocolException.class, () -> parse(whole));
    }

    private static ByteBuffer answer(int bytes, int status) {
        ByteBuffer head = ByteBuffer.allocate(bytes).order(ByteOrder.LITTLE_ENDIAN);
        return bytes < 32 ? head : head.putInt(0, 7).putInt(4, status).putInt(8, -1).putLong(16, 5).putLong(24, 6);
    }

    @Test
    void heads_of_answers_by_message_are_read_or_refused() throws Exception {
        assertEquals(new MessageAnswer(7, new Answer(Answer.Status.EXISTS, -1, 5, 6, "")), MessageAnswer.parse(answer(32, 2)));
        for (int bytes = 0; bytes < 32; bytes++) {
            ByteBuffer part = answer(bytes, 0);
            assertThrows(ProtocolException.class, () -> MessageAnswer.parse(part));
        }
        assertThrows(ProtocolException.class, () -> MessageAnswer.parse(answer(33, 0)));
        assertThrows(ProtocolException.class, () -> MessageAnswer.parse(answer(32, 8)));
        assertThrows(ProtocolException.class, () -> MessageAnswer.parse(answer(32, -1)));
    }

    private static ByteBuffer entry(int index, int length, int bytes) {
        ByteBuffer data = ByteBuffer.allocate(bytes).order(ByteOrder.LITTLE_ENDIAN);
        return data.putInt(0, index).putInt(4, 3).putLong(8, 9).putInt(16, length);
    }

    @Test
    void entries_of_lists_are_read_or_refused() throws Exception {
        int[] told = new int[3];
        MessageAnswer.entries(entry(4, 10, 34), 5, (index, value, flags, cas) -> {
            told[0] = index;
            told[1] = value.remaining();
            told[2] = flags;
        });
        assertArrayEquals(new int[] {4, 10, 3}, told);
        int[][] wrong = {{5, 10, 34}, {-1, 10, 34}, {0, 11, 34}, {0, -1, 34}, {0, Integer.MAX_VALUE, 34}, {0, 9, 34}, {0, 5, 24}};
        for (int[] one : wrong) {
            assertThrows(ProtocolException.class,
                () -> MessageAnswer.entries(entry(one[0], one[1], one[2]), 5, (index, value, flags, cas) -> { }));
        }
    }

    @Test
    void requests_by_message_have_their_key_in_the_header_or_in_the_data() {
        ByteBuffer head = ByteBuffer.allocate(192);
        MessageRequest.write(Request.put(Request.Mode.CAS, new byte[] {'k'}, 5, 6, 7), 8, head);
        assertEquals(33, head.remaining());
        byte[] wanted = {3, 2, 5, 1, 8, 0, 0, 0, 6, 0, 0, 0, 5, 0, 0, 0, 7, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 'k'};
        assertArrayEquals(wanted, Arrays.copyOf(head.array(), 33));
        Request longKey = Request.of(Request.Kind.GET, new byte[161], 0);
        MessageRequest.write(longKey, 8, head);
        assertEquals(32, head.remaining());
        assertEquals(16, head.get(1));
        assertEquals(161, MessageRequest.dataBytes(longKey));
        Request list = Request.list(List.of(new byte[] {'a'}, new byte[] {'b', 'c'}));
        ByteBuffer data = ByteBuffer.allocate(MessageRequest.dataBytes(list));
        MessageRequest.writeData(list, data);
        assertEquals(ByteBuffer.wrap(new byte[] {1, 'a', 2, 'b', 'c'}), data);
    }

    @Test
    void random_lines_are_read_or_refused() {
        Random random = new Random(1);
        String letters = "VAHDENMN Ofc0123456789-\u00ff\t";
        for (int i = 0; i < 100_000; i++) {
            StringBuilder line = new StringBuilder(i % 2 == 0 ? "VA " : "HD ");
            for (int j = random.nextInt(20); j > 0; j--) {
                line.append(letters.charAt(random.nextInt(letters.length())));
            }
            try {
                MetaLine read = MetaLine.parse(line.toString());
                assertEquals(2, read.code().length());
            } catch (ProtocolException e) {
                assertEquals(true, e.getMessage().startsWith("no answer of a memcached server"));
            }
        }
    }
}
