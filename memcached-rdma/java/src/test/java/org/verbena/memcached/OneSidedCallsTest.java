// SPDX-License-Identifier: Apache-2.0
package org.verbena.memcached;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.verbena.memcached.MemcachedException.Kind;

/** Each call by messages, with gets that read the server's memory once it is mapped. */
class OneSidedCallsTest extends CallsTest {
    @Override
    ServerProcess startServer() throws IOException {
        return ServerProcess.verbena(folder);
    }

    @Override
    String options() {
        return ";carrier=messages;key=" + server().keyFile();
    }

    @Override
    String way() {
        return "messages through the core (gets are one-sided); ";
    }

    private long reads() {
        return client.cluster().counters.onesided.sum();
    }

    /** Gets until the server's memory is mapped. */
    private void map() throws Exception {
        client.set("mapped", bytes("value"));
        ServerProcess.until("a one-sided get", () -> {
            try {
                assertEquals(5, client.get("mapped").bytes().length);
            } catch (MemcachedException e) {
                throw new AssertionError(e);
            }
            return reads() > 0;
        });
    }

    @Test
    void gets_read_the_servers_memory_and_nearly_no_message_is_sent() throws Exception {
        map();
        assertTrue(client.explain().get(0).contains(": one-sided gets, else messages through the core"), client.explain().get(0));
        client.set("key", bytes("value"), 0, 9);
        long messages = client.cluster().counters.messages.sum();
        long before = reads();
        ByteBuffer to = ByteBuffer.allocateDirect(8).position(1);
        for (int i = 0; i < 640; i++) {
            Value value = client.get("key");
            assertArrayEquals(bytes("value"), value.bytes());
            assertEquals(9, value.flags());
            assertEquals(value.cas(), client.get("key", to).cas());
            assertEquals('v', to.get(1));
        }
        assertEquals(1280, reads() - before + client.cluster().counters.messages.sum() - messages);
        assertEquals(20, client.cluster().counters.messages.sum() - messages, "one of 64 goes by message");
        assertEquals(2, client.getAll(List.of("key", "mapped", "missing")).size());
    }

    @Test
    void a_get_after_a_change_sees_the_change() throws Exception {
        map();
        for (int i = 0; i < 1000; i++) {
            client.set("key", bytes("value" + i));
            assertArrayEquals(bytes("value" + i), client.get("key").bytes());
            client.async().set("key", ByteBuffer.wrap(bytes("other" + i)), 0, 0);
            assertArrayEquals(bytes("other" + i), client.get("key").bytes());
        }
        client.delete("key");
        assertNull(client.get("key"));
        assertTrue(reads() > 900, "one-sided gets: " + reads());
    }

    @Test
    void a_killed_servers_memory_is_not_read() throws Exception {
        map();
        server().kill();
        long before = reads();
        MemcachedException failure = org.junit.jupiter.api.Assertions.assertThrows(MemcachedException.class, () -> {
            for (int i = 0; i < 3; i++) {
                client.get("mapped");
            }
        });
        assertEquals(Kind.SERVER_DEAD, failure.kind());
        assertEquals(before, reads());
        server().restart();
        ServerProcess.until("a one-sided get of the new server", () -> {
            try {
                client.set("mapped", bytes("again"));
                Value value = client.get("mapped");
                return value != null && java.util.Arrays.equals(bytes("again"), value.bytes()) && reads() > before;
            } catch (MemcachedException e) {
                return false;
            }
        });
    }
}
