// SPDX-License-Identifier: Apache-2.0
package org.verbena.memcached;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.ByteArrayOutputStream;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.verbena.memcached.MemcachedException.Kind;
import org.verbena.memcached.example.MemcachedExample;

/** Which way requests go, and what explain says of it. */
@Timeout(value = 120, unit = TimeUnit.SECONDS, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class WaysTest {
    @TempDir
    Path folder;

    private static String way(MemcachedClient client) throws MemcachedException {
        client.set("key", new byte[10]);
        assertEquals(10, client.get("key").bytes().length);
        return client.explain().get(0);
    }

    private static void contains(String text, String words) {
        assertTrue(text.contains(words), text);
    }

    @Test
    void without_the_key_requests_go_by_socket() throws Exception {
        try (ServerProcess server = ServerProcess.verbena(folder);
            MemcachedClient client = MemcachedClient.open(server.patient() + ";key=" + folder.resolve("none"))) {
            contains(way(client), "TCP socket; no messages: ");
            contains(way(client), folder.resolve("none").toString());
        }
    }

    @Test
    void a_key_that_others_can_read_is_refused_with_the_cure() throws Exception {
        try (ServerProcess server = ServerProcess.verbena(folder)) {
            Path open = Files.copy(server.keyFile(), folder.resolve("open.key"));
            Files.setPosixFilePermissions(open, PosixFilePermissions.fromString("rw-r--r--"));
            try (MemcachedClient client = MemcachedClient.open(server.patient() + ";key=" + open)) {
                contains(way(client), "is mode 0644: others can read the key; run: chmod 600 " + open);
            }
        }
    }

    @Test
    void with_another_key_requests_go_by_socket() throws Exception {
        try (ServerProcess server = ServerProcess.verbena(folder)) {
            Path other = Files.copy(server.keyFile(), folder.resolve("other.key"));
            Files.setPosixFilePermissions(other, PosixFilePermissions.fromString("rw-------"));
            Files.writeString(other, "f".repeat(64) + "\n");
            String times = ";connect=10000;timeout=60000;key=" + other; // with a wrong key the first takes all of its time
            try (MemcachedClient client = MemcachedClient.open(server.address() + times)) {
                contains(way(client), "TCP socket; no messages: the core");
            }
            try (MemcachedClient client = MemcachedClient.open(server.address() + times + ";carrier=messages")) {
                MemcachedException failure = assertThrows(MemcachedException.class, () -> client.get("key"));
                assertEquals(Kind.SERVER_DEAD, failure.kind());
                contains(failure.getMessage(), "no messages, and carrier=messages: ");
            }
        }
    }

    @Test
    void a_server_without_authentication_needs_no_key() throws Exception {
        try (ServerProcess server = ServerProcess.verbena(folder, "-o", "verbena_auth=none");
            MemcachedClient client = MemcachedClient.open(server.patient() + ";key=" + folder.resolve("none"))) {
            contains(way(client), "messages through the core (gets are one-sided)");
        }
    }

    @Test
    void the_server_says_why_reads_are_off() throws Exception {
        try (ServerProcess server = ServerProcess.verbena(folder, "-o", "verbena_onesided=off");
            MemcachedClient client = MemcachedClient.open(server.patient() + ";key=" + server.keyFile())) {
            contains(way(client), "messages through the core (one-sided reads are off at the server)");
        }
    }

    @Test
    void the_example_runs_by_messages_and_by_sockets() throws Exception {
        try (ServerProcess server = ServerProcess.verbena(folder);
            ServerProcess stock = ServerProcess.stock(Files.createDirectory(folder.resolve("stock")))) {
            for (String config : new String[] {server.address() + ";key=" + server.keyFile(), stock.address()}) {
                ByteArrayOutputStream out = new ByteArrayOutputStream();
                MemcachedExample.run(config + ServerProcess.PATIENT, new PrintStream(out, true, StandardCharsets.UTF_8));
                contains(out.toString(StandardCharsets.UTF_8), "example: 'a value', flags 7\nstored over that value only: STORED\n"
                    + "in the caller's memory: 1024 bytes\nof three keys there are 2\n" + config.replaceAll(";.*", "") + ": ");
            }
        }
    }

    @Test
    void the_addresses_of_a_name_are_tried_in_turn() throws Exception {
        try (ServerProcess server = ServerProcess.stock(folder);
            MemcachedClient client = MemcachedClient.open(server.patient().replace("127.0.0.1", "localhost"))) {
            contains(way(client), "localhost:");
            contains(way(client), ": TCP socket; ");
        }
    }

    @Test
    void a_unix_socket_is_a_way_too() throws Exception {
        try (ServerProcess server = ServerProcess.unix(folder);
            MemcachedClient messages = MemcachedClient.open(server.patient() + ";key=" + server.keyFile());
            MemcachedClient sockets = MemcachedClient.open(server.patient() + ";carrier=sockets")) {
            contains(way(messages), server.address() + ": messages through the core");
            contains(way(sockets), server.address() + ": Unix socket; no messages: carrier=sockets");
        }
    }
}
