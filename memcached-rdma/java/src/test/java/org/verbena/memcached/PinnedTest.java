// SPDX-License-Identifier: Apache-2.0
package org.verbena.memcached;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.ByteBuffer;
import java.nio.file.Path;
import java.util.Random;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.verbena.memcached.MemcachedException.Kind;

/** Items that the server keeps until their release, by both carriers. */
class PinnedTest {
    private static final int BIG = 700_000;
    private static final long MEMORY = 16 << 20;
    private static final String LONG = "k".repeat(200); // by message it goes with the data
    private static final String[] KEYS = {"empty", "small", LONG, "big"};

    @TempDir
    Path folder;

    private static MemcachedClient client(ServerProcess server, String carrier) throws IOException {
        return MemcachedClient.open(server.patient() + ";carrier=" + carrier + ";key=" + server.keyFile());
    }

    private static byte[] value(String key) {
        byte[] bytes = new byte[switch (key) {
            case "empty" -> 0;
            case "small" -> 1;
            case "big" -> BIG;
            default -> 5000;
        }];
        new Random(key.length()).nextBytes(bytes);
        return bytes;
    }

    private static void pinAll(MemcachedClient client) throws IOException {
        for (String key : KEYS) {
            assertEquals(Stored.STORED, client.setPinned(key, value(key)));
        }
    }

    private static void expectAll(MemcachedClient client) throws IOException {
        for (String key : KEYS) {
            assertArrayEquals(value(key), client.get(key).bytes(), key);
        }
    }

    /** Stores more than the memory holds. */
    private static void press(MemcachedClient client) throws IOException {
        for (int i = 0; i < 200; i++) {
            client.set("press" + i, new byte[BIG]);
        }
        assertNull(client.get("press0"));
    }

    @ParameterizedTest
    @ValueSource(strings = {"sockets", "messages"})
    void pinned_items_outlive_pressure_until_their_release(String carrier) throws Exception {
        try (ServerProcess server = ServerProcess.verbena(folder); MemcachedClient client = client(server, carrier)) {
            pinAll(client);
            press(client);
            expectAll(client);
            for (String key : KEYS) {
                assertTrue(client.release(key));
            }
            assertFalse(client.release("nobody"));
            expectAll(client);
            press(client);
            press(client); // values that were read stay for a round
            assertNull(client.get("big")); // the others lie apart from the large values
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {"sockets", "messages"})
    void a_full_share_is_an_error_with_its_cure_and_leaves_the_old_value(String carrier) throws Exception {
        try (ServerProcess server = ServerProcess.verbena(folder, "-o", "verbena_pinned=10");
            MemcachedClient client = client(server, carrier)) {
            MemcachedException failure = assertThrows(MemcachedException.class, () -> {
                for (int i = 0; i < 12; i++) {
                    client.setPinned("pin" + i, new byte[BIG]);
                }
            });
            assertEquals(Kind.SERVER_MEMORY, failure.kind());
            assertTrue(failure.getMessage().startsWith(server.address()), failure.getMessage());
            assertTrue(failure.getMessage().contains("pinned items have used up their share"), failure.getMessage());
            assertThrows(MemcachedException.class, () -> client.setPinned("pin0", ByteBuffer.allocate(BIG).put(0, (byte) 1), 0, 0));
            assertArrayEquals(new byte[BIG], client.get("pin0").bytes());
            client.delete("pin0");
            assertEquals(Stored.STORED, client.setPinned("pin0", new byte[BIG]));
        }
    }

    @Test
    void a_server_without_pinned_items_is_named() throws Exception {
        try (ServerProcess server = ServerProcess.stock(folder); MemcachedClient client = MemcachedClient.open(server.patient())) {
            for (org.junit.jupiter.api.function.Executable call : new org.junit.jupiter.api.function.Executable[] {
                () -> client.setPinned("key", new byte[5000]), () -> client.release("key")}) {
                MemcachedException failure = assertThrows(MemcachedException.class, call);
                assertEquals(Kind.NO_PINS, failure.kind(), failure.getMessage());
                assertTrue(failure.getMessage().startsWith(server.address() + ": the server has no pinned items ("),
                    failure.getMessage());
                assertTrue(failure.getMessage().endsWith("use verbena-memcached"), failure.getMessage());
            }
            client.set("key", new byte[1]);
            assertNotNull(client.get("key"));
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {"sockets", "messages"})
    void items_on_disk_and_pins_are_there_after_a_warm_restart(String carrier) throws Exception {
        try (ServerProcess server = ServerProcess.verbena(folder, "-m", "16", "-e", folder.resolve("items").toString(),
            "-o", "ext_path=" + folder.resolve("disk") + ":64M,ext_page_size=2,ext_wbuf_size=1")) {
            Random random = new Random(41);
            byte[][] values = new byte[30][BIG];
            try (MemcachedClient client = client(server, carrier)) {
                pinAll(client);
                for (byte[] value : values) {
                    random.nextBytes(value);
                }
                ServerProcess.until("more items than memory holds", () -> storeMissing(client, values) > MEMORY);
            }
            server.restartWarm();
            try (MemcachedClient client = client(server, carrier)) {
                expectAll(client);
                assertTrue(found(client, values) > MEMORY);
                assertTrue(client.release("big"));
            }
        }
    }

    /** Stores what a slow disk has had no room for, and counts the bytes that are there. */
    private static long storeMissing(MemcachedClient client, byte[][] values) {
        try {
            for (int i = 0; i < values.length; i++) {
                client.add("item" + i, values[i], 0, 0);
            }
            return found(client, values);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** Each value is whole or away. */
    private static long found(MemcachedClient client, byte[][] values) throws IOException {
        long bytes = 0;
        for (int i = 0; i < values.length; i++) {
            Value value = client.get("item" + i);
            if (value != null) {
                assertArrayEquals(values[i], value.bytes());
                bytes += values[i].length;
            }
        }
        return bytes;
    }
}
