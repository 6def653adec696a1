// SPDX-License-Identifier: Apache-2.0
package org.verbena.memcached;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.verbena.memcached.MemcachedException.Kind;

/** Each call, on sockets of Debian's server; subclasses take other servers and ways. */
class CallsTest {
    @TempDir
    Path folder;
    private ServerProcess server;
    MemcachedClient client;

    ServerProcess startServer() throws IOException {
        return ServerProcess.stock(folder);
    }

    /** Options of the client, beside the server. */
    String options() {
        return "";
    }

    /** What the way of the requests is called. */
    String way() {
        return "TCP socket; no messages: the server is not verbena-memcached";
    }

    @BeforeEach
    void open() throws IOException {
        server = startServer();
        client = MemcachedClient.open(server.patient() + options());
    }

    @AfterEach
    void close() {
        if (client != null) {
            client.close();
        }
        if (server != null) {
            server.close();
        }
    }

    ServerProcess server() {
        return server;
    }

    static byte[] bytes(String text) {
        return text.getBytes(StandardCharsets.UTF_8);
    }

    private static String text(Value value) {
        return new String(value.bytes(), StandardCharsets.UTF_8);
    }

    private Kind failure(org.junit.jupiter.api.function.Executable call) {
        MemcachedException failure = assertThrows(MemcachedException.class, call);
        assertTrue(failure.getMessage().startsWith(server.address()) || failure.kind() == Kind.TRUNCATED, failure.getMessage());
        return failure.kind();
    }

    @Test
    void the_way_is_the_expected_one_and_has_a_reason() throws Exception {
        client.set("key", bytes("value"));
        assertTrue(client.explain().get(0).startsWith(server.address() + ": " + way()), client.explain().get(0));
    }

    @Test
    void a_value_comes_back_with_its_flags() throws Exception {
        assertNull(client.get("key"));
        assertEquals(Stored.STORED, client.set("key", bytes("value"), 0, -2));
        assertEquals("value", text(client.get("key")));
        assertEquals(-2, client.get("key").flags());
        client.set("empty", new byte[0]);
        assertEquals(0, client.get("empty").bytes().length);
    }

    @Test
    void conditions_of_stores_hold() throws Exception {
        assertEquals(Stored.NOT_STORED, client.replace("key", bytes("a"), 0, 0));
        assertEquals(Stored.NOT_STORED, client.append("key", bytes("a")));
        assertEquals(Stored.NOT_STORED, client.prepend("key", bytes("a")));
        assertEquals(Stored.STORED, client.add("key", bytes("b"), 0, 7));
        assertEquals(Stored.NOT_STORED, client.add("key", bytes("c"), 0, 0));
        assertEquals(Stored.STORED, client.append("key", bytes("c")));
        assertEquals(Stored.STORED, client.prepend("key", bytes("a")));
        assertEquals("abc", text(client.get("key")));
        assertEquals(7, client.get("key").flags());
        assertEquals(Stored.STORED, client.replace("key", bytes("d"), 0, 0));
        assertEquals("d", text(client.get("key")));
    }

    @Test
    void cas_stores_only_over_the_value_that_was_read() throws Exception {
        assertEquals(Stored.NOT_FOUND, client.cas("key", bytes("a"), 0, 0, 1));
        client.set("key", bytes("a"));
        long cas = client.get("key").cas();
        assertEquals(Stored.STORED, client.cas("key", bytes("b"), 0, 0, cas));
        assertEquals(Stored.EXISTS, client.cas("key", bytes("c"), 0, 0, cas));
        assertEquals("b", text(client.get("key")));
    }

    @Test
    void values_are_deleted_and_expire() throws Exception {
        assertFalse(client.delete("key"));
        assertFalse(client.touch("key", 100));
        assertNull(client.getAndTouch("key", 100));
        client.set("key", bytes("a"), 100, 3);
        assertTrue(client.touch("key", 200));
        assertEquals("a", text(client.getAndTouch("key", 300)));
        assertTrue(client.touch("key", -1));
        assertNull(client.get("key"));
        client.set("key", bytes("b"), -1, 0);
        assertNull(client.get("key"));
        client.set("key", bytes("c"));
        assertTrue(client.delete("key"));
        assertNull(client.get("key"));
    }

    @Test
    void arithmetic_is_that_of_memcached() throws Exception {
        assertTrue(client.increment("key", 1).isEmpty());
        client.set("key", bytes("10"));
        assertEquals(15, client.increment("key", 5).getAsLong());
        assertEquals(0, client.decrement("key", 100).getAsLong());
        assertEquals(-1, client.increment("key", -1).getAsLong()); // 2^64 - 1
        client.set("key", bytes("word"));
        assertEquals(Kind.NON_NUMERIC, failure(() -> client.increment("key", 1)));
    }

    @Test
    void a_value_may_come_into_a_buffer_of_the_caller() throws Exception {
        ByteBuffer to = ByteBuffer.allocateDirect(10).position(2);
        assertNull(client.get("key", to));
        client.set("key", ByteBuffer.allocateDirect(5).put(bytes("value")).flip(), 0, 9);
        Received received = client.get("key", to);
        assertEquals(5, received.length());
        assertEquals(9, received.flags());
        assertEquals(client.get("key").cas(), received.cas());
        byte[] came = new byte[5];
        to.get(came);
        assertArrayEquals(bytes("value"), came);
        assertEquals(Kind.TRUNCATED, failure(() -> client.get("key", ByteBuffer.allocate(4))));
        assertThrows(IllegalArgumentException.class, () -> client.get("key", ByteBuffer.allocate(9).asReadOnlyBuffer()));
    }

    @Test
    void values_of_all_sizes_come_back_whole() throws Exception {
        Random random = new Random(39);
        for (int size : new int[] {1, 100, 4000, 4096, 5000, 20_000, 70_000, 300_000, 1_000_000}) {
            byte[] value = new byte[size];
            random.nextBytes(value);
            client.set("size" + size, value);
            assertArrayEquals(value, client.get("size" + size).bytes(), () -> size + " bytes");
            ByteBuffer to = ByteBuffer.allocateDirect(size);
            assertEquals(size, client.get("size" + size, to).length());
            assertEquals(ByteBuffer.wrap(value), to);
        }
    }

    @Test
    void a_value_that_is_too_large_is_an_error_and_the_connection_goes_on() throws Exception {
        assertEquals(Kind.TOO_LARGE, failure(() -> client.set("key", new byte[2 << 20])));
        client.set("key", bytes("small"));
        assertEquals("small", text(client.get("key")));
    }

    @Test
    void many_keys_come_at_once() throws Exception {
        assertEquals(Map.of(), client.getAll(List.of()));
        List<String> keys = new ArrayList<>();
        List<CompletableFuture<Stored>> stores = new ArrayList<>();
        for (int i = 0; i < 3000; i++) {
            keys.add("key" + i + "x".repeat(i % 200));
            if (i % 3 != 0) {
                byte[] value = bytes("value" + i);
                stores.add(client.async().set(keys.get(i), ByteBuffer.wrap(value), 0, i));
            }
        }
        for (CompletableFuture<Stored> store : stores) {
            assertEquals(Stored.STORED, store.get(60, TimeUnit.SECONDS));
        }
        Map<String, Value> found = client.getAll(keys);
        assertEquals(2000, found.size());
        for (int i = 0; i < 3000; i++) {
            Value value = found.get(keys.get(i));
            assertEquals(i % 3 == 0 ? null : "value" + i, value == null ? null : text(value));
            assertTrue(value == null || value.flags() == i);
        }
    }

    @Test
    void many_large_values_come_at_once() throws Exception {
        List<String> keys = new ArrayList<>();
        for (int i = 0; i < 40; i++) {
            keys.add("large" + i);
            byte[] value = new byte[200_000];
            java.util.Arrays.fill(value, (byte) i);
            client.set(keys.get(i), value);
        }
        Map<String, Value> found = client.getAll(keys);
        assertEquals(40, found.size());
        for (int i = 0; i < 40; i++) {
            byte[] value = found.get("large" + i).bytes();
            assertTrue(value.length == 200_000 && value[0] == i && value[199_999] == i);
        }
    }

    @Test
    void calls_of_one_thread_for_a_key_are_carried_out_in_order() throws Exception {
        CompletableFuture<Value> last = null;
        for (int i = 0; i < 500; i++) {
            int size = i % 7 == 0 ? 100_000 : 10; // large and small values take different ways
            ByteBuffer value = ByteBuffer.allocate(size).putInt(0, i);
            client.async().set("key", value, 0, 0);
            last = client.async().get("key");
            if (i % 50 == 49) {
                assertEquals(i, ByteBuffer.wrap(last.get(60, TimeUnit.SECONDS).bytes()).getInt(0));
            }
        }
    }

    @Test
    void a_wrong_key_is_refused_before_anything_is_sent() {
        for (String key : new String[] {"", "a b", "a\nb", "x".repeat(251), "\u007f"}) {
            assertThrows(IllegalArgumentException.class, () -> client.get(key), key);
        }
        assertEquals(0, client.cluster().counters.connects.sum());
    }

    @Test
    void a_blocking_call_on_the_clients_thread_is_refused() throws Exception {
        Thread me = Thread.currentThread();
        AtomicBoolean refused = new AtomicBoolean();
        ServerProcess.until("a function on the client's thread", () -> {
            client.async().get("key").thenAccept(value -> {
                if (Thread.currentThread() != me) { // an answer that is there already runs it here
                    assertThrows(IllegalStateException.class, () -> client.get("key"));
                    refused.set(true);
                }
            }).orTimeout(60, TimeUnit.SECONDS).join();
            return refused.get();
        });
    }
}
