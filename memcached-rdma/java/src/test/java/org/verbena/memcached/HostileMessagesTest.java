// SPDX-License-Identifier: Apache-2.0
package org.verbena.memcached;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.Base64;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.function.BiConsumer;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.verbena.core.Message;
import org.verbena.core.VbnConfig;
import org.verbena.core.VbnContext;
import org.verbena.core.VbnEngine;
import org.verbena.core.VbnPeer;
import org.verbena.memcached.MemcachedException.Kind;
import org.verbena.memcached.wire.MessageRequest;

/** A server that knows the hello and the core, and answers by message what it likes: no call ends wrong, and none hangs. */
@Timeout(value = 120, unit = TimeUnit.SECONDS, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class HostileMessagesTest {
    private static final int NOOP = 7;
    private static final int OK = 0;

    private VbnContext context;
    private VbnEngine engine;
    private ScriptedServer server;
    private MemcachedClient client;
    /** What the first answer says of reads, and its data. */
    private volatile long reads = 2;
    private volatile ByteBuffer pageKey = ByteBuffer.allocateDirect(0);
    /** Answers a request, given its number. */
    private volatile BiConsumer<VbnPeer, Integer> script = (peer, id) -> { };

    @BeforeEach
    void start() throws Exception {
        context = VbnContext.open(new VbnConfig().log(line -> { }).set("security.auth", "none").set("tl.enable", "shm,tcp")
            .set("security.same_user", "false"));
        engine = context.startEngine("hostile");
        engine.onMessage(MessageRequest.REQUEST, this::take);
        byte[] address = engine.address();
        ByteBuffer hello = ByteBuffer.allocate(32 + address.length).order(ByteOrder.LITTLE_ENDIAN);
        hello.put(0, (byte) 1).put(1, (byte) 2).putShort(2, (short) address.length).put(32, address);
        String line = "vbn1 " + Base64.getEncoder().encodeToString(hello.array()) + "\r\n";
        server = new ScriptedServer(asked -> asked.startsWith("vbn1") ? line : "MN\r\n");
        client = MemcachedClient.open(server.address() + ServerProcess.PATIENT + ";carrier=messages");
    }

    @AfterEach
    void end() throws Exception {
        client.close();
        server.close();
        engine.close();
        context.close();
    }

    private void take(Message message) {
        int op = message.header().get(0);
        int id = message.header().order(ByteOrder.LITTLE_ENDIAN).getInt(4);
        if (op == NOOP) {
            answer(message.peer(), id, OK, reads, pageKey);
        } else {
            script.accept(message.peer(), id);
        }
    }

    private void answer(VbnPeer peer, int id, int status, long number, ByteBuffer data) {
        ByteBuffer head = ByteBuffer.allocate(32).order(ByteOrder.LITTLE_ENDIAN);
        head.putInt(0, id).putInt(4, status).putLong(24, number);
        engine.send(peer, MessageRequest.ANSWER, head, data.hasRemaining() ? new ByteBuffer[] {data} : null, null);
    }

    private static ByteBuffer direct(int bytes, int fill) {
        ByteBuffer data = ByteBuffer.allocateDirect(bytes).order(ByteOrder.LITTLE_ENDIAN);
        for (int i = 0; i < bytes; i++) {
            data.put(i, (byte) fill);
        }
        return data;
    }

    private Kind failure(MemcachedClient of) {
        MemcachedException failure = assertThrows(MemcachedException.class, () -> of.get("key"));
        assertTrue(failure.getMessage().startsWith(server.address()), failure.getMessage());
        return failure.kind();
    }

    @Test
    void answers_that_are_malformed_or_of_no_call_are_passed_over() throws Exception {
        script = (peer, id) -> {
            for (int bytes : new int[] {0, 4, 31, 33, 192}) {
                engine.send(peer, MessageRequest.ANSWER, ByteBuffer.allocate(bytes), null, null);
            }
            answer(peer, id, 99, 0, direct(10, 'x'));
            answer(peer, id, -1, 0, direct(1_000_000, 'x'));
            answer(peer, id + 1, OK, 0, direct(10, 'x'));
            answer(peer, id - 1, OK, 0, direct(1_000_000, 'x'));
            answer(peer, id, OK, 0, direct(3, 'v'));
            answer(peer, id, OK, 0, direct(3, 'w')); // a second time
            answer(peer, id, OK, 0, direct(1_000_000, 'w'));
        };
        for (int i = 0; i < 20; i++) {
            assertArrayEquals(new byte[] {'v', 'v', 'v'}, client.get("key").bytes());
        }
    }

    @Test
    void a_second_answer_while_a_large_value_comes_is_passed_over() throws Exception {
        script = (peer, id) -> {
            answer(peer, id, OK, 0, direct(1_000_000, 'v'));
            answer(peer, id, OK, 0, direct(3, 'w'));
            answer(peer, id, 1, 0, direct(1_000_000, 'w'));
        };
        for (int i = 0; i < 20; i++) {
            byte[] value = client.get("key").bytes();
            assertTrue(value.length == 1_000_000 && value[0] == 'v' && value[999_999] == 'v');
        }
        ServerProcess.until("no value is left", () -> client.cluster().valueBytes() == 0);
    }

    @Test
    void a_list_that_makes_no_sense_is_an_error_of_that_call() throws Exception {
        for (ByteBuffer data : new ByteBuffer[] {direct(10, 0), direct(24, 0).putInt(0, 2), direct(24, 0).putInt(16, -1),
            direct(30, 0).putInt(16, 7), direct(100_000, 0).putInt(16, 99_000)}) {
            script = (peer, id) -> answer(peer, id, OK, 2, data.duplicate());
            MemcachedException failure = assertThrows(PartialException.class, () -> client.getAll(List.of("a", "b")));
            assertEquals(Kind.PROTOCOL, failure.kind());
        }
        for (long number : new long[] {0, -1, Long.MIN_VALUE}) {
            script = (peer, id) -> answer(peer, id, OK, number, direct(24, 0));
            assertEquals(Kind.PROTOCOL, assertThrows(PartialException.class, () -> client.getAll(List.of("a", "b"))).kind());
        }
        script = (peer, id) -> answer(peer, id, OK, Long.MAX_VALUE, direct(24, 0).putInt(0, 1));
        assertEquals(1, client.getAll(List.of("a", "b")).size());
        script = (peer, id) -> answer(peer, id, 1, 0, direct(0, 0));
        assertNull(client.get("key"));
    }

    @Test
    void a_false_key_of_memory_leaves_gets_by_message() throws Exception {
        for (ByteBuffer key : new ByteBuffer[] {direct(0, 0), direct(1, 1), direct(100, 'k'), direct(128, 0), direct(4000, 'k'),
            direct(1_000_000, 'k')}) {
            reads = 1;
            pageKey = key;
            script = (peer, id) -> answer(peer, id, OK, 0, direct(3, 'v'));
            try (MemcachedClient other = MemcachedClient.open(server.address() + ServerProcess.PATIENT + ";carrier=messages")) {
                for (int i = 0; i < 100; i++) {
                    assertEquals(3, other.get("key").bytes().length);
                }
                assertEquals(0, other.cluster().counters.onesided.sum());
            }
        }
    }

    @Test
    void memory_that_is_no_store_leaves_gets_by_message() throws Exception {
        try (var memory = context.allocate(1 << 20)) {
            reads = 1;
            byte[] blob = memory.exportKey(0, 1 << 20, false);
            pageKey = ByteBuffer.allocateDirect(blob.length).put(blob).flip();
            script = (peer, id) -> answer(peer, id, OK, 0, direct(3, 'v'));
            for (int i = 0; i < 1000; i++) {
                assertEquals(3, client.get("key").bytes().length);
            }
            assertEquals(0, client.cluster().counters.onesided.sum());
            assertTrue(client.explain().get(0).startsWith(server.address() + ": messages through"), client.explain().get(0));
        }
    }

    @Test
    void a_server_that_does_not_answer_by_message_ends_calls_with_their_time() throws Exception {
        try (MemcachedClient hurried = MemcachedClient.open(server.address() + ";timeout=500;carrier=messages")) {
            assertEquals(Kind.TIMEOUT, failure(hurried));
            Kind again = failure(hurried); // the connection was found silent, or is asked once more
            assertTrue(again == Kind.TIMEOUT || again == Kind.SERVER_DEAD, again::name);
        }
    }

    @Test
    void an_engine_that_ends_is_the_end_of_the_connection() throws Exception {
        script = (peer, id) -> answer(peer, id, OK, 0, direct(3, 'v'));
        assertEquals(3, client.get("key").bytes().length);
        script = (peer, id) -> { };
        var get = client.async().get("key");
        engine.close();
        var ended = assertThrows(java.util.concurrent.ExecutionException.class, () -> get.get(60, TimeUnit.SECONDS));
        MemcachedException cause = (MemcachedException) ended.getCause();
        assertEquals(Kind.SERVER_DEAD, cause.kind(), cause.getMessage());
    }
}
