// SPDX-License-Identifier: Apache-2.0
package org.verbena.memcached;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.verbena.memcached.MemcachedException.Kind;

/** Servers that are silent, dead, new or hostile, on sockets: each call ends, and its error names the server. */
@Timeout(value = 120, unit = TimeUnit.SECONDS, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class FaultsTest {
    @TempDir
    Path folder;

    /** Options of the clients, beside servers and times. */
    String options() {
        return ";carrier=sockets";
    }

    ServerProcess startServer(Path place) throws IOException {
        return ServerProcess.stock(place);
    }

    private ServerProcess start(String name) throws IOException {
        return startServer(Files.createDirectory(folder.resolve(name)));
    }

    private MemcachedClient open(String servers, String times) throws IOException {
        return MemcachedClient.open(servers + times + options());
    }

    private static MemcachedException failure(org.junit.jupiter.api.function.Executable call) {
        return assertThrows(MemcachedException.class, call);
    }

    @Test
    void a_silent_server_of_three_ends_a_bulk_get_with_what_the_others_have() throws Exception {
        try (ServerProcess a = start("a"); ServerProcess b = start("b"); ServerProcess c = start("c");
            MemcachedClient writer = open(a.address() + "," + b.address() + "," + c.address(), ServerProcess.PATIENT);
            MemcachedClient client = open(a.address() + "," + b.address() + "," + c.address(), ";timeout=1500")) {
            List<String> keys = new ArrayList<>();
            for (int i = 0; i < 300; i++) {
                keys.add("key" + i);
                writer.set("key" + i, new byte[100]);
            }
            ServerProcess.until("all servers answer", () -> answers(writer, keys) && answers(client, keys));
            b.signal("STOP");
            long lost = keys.stream().map(key -> writer.cluster().serverOf(key.getBytes()).address.toString())
                .filter(b.address()::equals).count();
            ServerProcess.until("an error of that server alone", () -> hasFailed(client, keys, b.address(), 300 - lost));
            b.signal("CONT");
            ServerProcess.until("the server answers again", () -> answers(client, keys));
        }
    }

    /** Its memory may answer some gets, and a busy machine may be late with the other servers, too. */
    private static boolean hasFailed(MemcachedClient client, List<String> keys, String address, long least) {
        try {
            return client.getAll(keys).isEmpty();
        } catch (PartialException e) {
            return e.getMessage().startsWith(address + ": ") && e.found().size() >= least;
        } catch (MemcachedException e) {
            return false;
        }
    }

    private static boolean answers(MemcachedClient client, List<String> keys) {
        try {
            return client.getAll(keys).size() == keys.size();
        } catch (MemcachedException e) {
            return false;
        }
    }

    @Test
    void a_killed_server_is_named_and_found_again() throws Exception {
        try (ServerProcess server = start("a"); MemcachedClient client = open(server.address(), ";timeout=5000")) {
            client.set("key", new byte[10]);
            server.kill();
            MemcachedException failure = failure(() -> {
                while (true) { // until the client has seen the end
                    client.get("key");
                }
            });
            assertEquals(Kind.SERVER_DEAD, failure.kind());
            assertTrue(failure.getMessage().startsWith(server.address() + ": "), failure.getMessage());
            server.restart();
            ServerProcess.until("the new server", () -> {
                try {
                    assertNull(client.get("key"));
                    return true;
                } catch (MemcachedException e) {
                    return false;
                }
            });
        }
    }

    @Test
    void a_server_that_is_not_there_is_an_error_at_once() throws Exception {
        try (Socket silent = new Socket()) { // bound: nobody else gets the port; and not listening
            silent.bind(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0));
            expectRefused("127.0.0.1:" + silent.getLocalPort());
        }
        try (MemcachedClient client = open("no.such.host.invalid:1", ServerProcess.PATIENT)) {
            assertTrue(failure(() -> client.get("key")).getMessage().contains("cannot resolve 'no.such.host.invalid'"));
        }
    }

    private void expectRefused(String server) throws IOException {
        try (MemcachedClient client = open(server, ServerProcess.PATIENT)) {
            MemcachedException failure = failure(() -> client.get("key"));
            assertEquals(Kind.SERVER_DEAD, failure.kind());
            assertTrue(failure.getMessage().contains("cannot connect: Connection refused"), failure.getMessage());
            assertTrue(client.explain().get(0).contains("not connected: cannot connect"), client.explain().get(0));
        }
    }

    @Test
    void after_many_stalls_there_is_one_socket_for_each_server() throws Exception {
        try (ScriptedServer silent = ScriptedServer.answering(null);
            MemcachedClient client = open(silent.address(), ";timeout=20")) {
            for (int i = 0; i < 100; i++) { // a connection that is found silent ends the next call, too
                Kind kind = failure(() -> client.get("key")).kind();
                assertTrue(kind == Kind.TIMEOUT || kind == Kind.SERVER_DEAD, kind::name);
            }
            ServerProcess.until("closed sockets", () -> silent.open.get() <= 1);
            ServerProcess.until("no call left", () -> client.cluster().servers().get(0).count() <= 1);
            assertTrue(silent.accepted.get() > 1, "the client connects again");
        }
    }

    @Test
    void a_full_queue_fails_at_once_and_recovers() throws Exception {
        try (ServerProcess server = start("a"); MemcachedClient client = open(server.address(), ServerProcess.PATIENT)) {
            client.set("key", new byte[10]);
            server.signal("STOP");
            List<CompletableFuture<Value>> gets = new ArrayList<>();
            for (int i = 0; i < 2 * Server.CALLS_MAX; i++) {
                gets.add(client.async().get("k" + i));
            }
            CompletableFuture<Value> last = gets.get(gets.size() - 1);
            ExecutionException refused = assertThrows(ExecutionException.class, () -> last.get(60, TimeUnit.SECONDS));
            assertEquals(Kind.BUSY, ((MemcachedException) refused.getCause()).kind());
            server.signal("CONT");
            for (int i = 0; i < Server.CALLS_MAX; i++) {
                assertNull(gets.get(i).get(60, TimeUnit.SECONDS));
            }
            assertEquals(10, client.get("key").bytes().length);
        }
    }

    @Test
    void values_on_their_way_are_bounded() throws Exception {
        try (ServerProcess server = start("a"); MemcachedClient client = open(server.address(), ServerProcess.PATIENT)) {
            client.set("key", new byte[10]);
            server.signal("STOP");
            ByteBuffer value = ByteBuffer.allocateDirect(1 << 20);
            List<CompletableFuture<Stored>> sets = new ArrayList<>();
            for (int i = 0; i < 300; i++) {
                sets.add(client.async().set("k" + i, value, 0, 0));
            }
            ExecutionException refused = assertThrows(ExecutionException.class, () -> sets.get(299).get(60, TimeUnit.SECONDS));
            assertEquals(Kind.BUSY, ((MemcachedException) refused.getCause()).kind());
            assertTrue(refused.getCause().getMessage().contains("values are on their way"), refused.getCause().getMessage());
            server.signal("CONT");
            sets.get(0).handle((stored, error) -> stored).get(60, TimeUnit.SECONDS);
        }
    }

    @Test
    void all_calls_of_all_threads_end_while_the_server_dies_again_and_again() throws Exception {
        int deaths = System.getenv("VERBENA_TEST_FULL") == null ? 4 : 40;
        try (ServerProcess server = start("a"); MemcachedClient client = open(server.address(), ";timeout=2000")) {
            client.set("key", new byte[10]);
            AtomicBoolean over = new AtomicBoolean();
            List<CompletableFuture<Long>> threads = new ArrayList<>();
            for (int i = 0; i < 4; i++) {
                int seed = i;
                threads.add(CompletableFuture.supplyAsync(() -> callUntil(over, client, new Random(seed)),
                    task -> new Thread(task).start()));
            }
            for (int i = 0; i < deaths; i++) {
                ServerProcess.until("the server is used", () -> answered(client));
                server.kill();
                server.restart();
            }
            over.set(true);
            for (CompletableFuture<Long> thread : threads) {
                thread.get(60, TimeUnit.SECONDS);
            }
            ServerProcess.until("the server is used again", () -> answered(client));
            ServerProcess.until("no call is left", () -> client.cluster().servers().get(0).count() == 0);
            ServerProcess.until("no value is left", () -> client.cluster().valueBytes() == 0);
        }
    }

    private static boolean answered(MemcachedClient client) {
        try {
            return client.set("key", new byte[10]) == Stored.STORED;
        } catch (MemcachedException e) {
            return false;
        }
    }

    /** Calls of all sizes, some of them not waited for; what comes back is what was stored. */
    private static long callUntil(AtomicBoolean over, MemcachedClient client, Random random) {
        long answers = 0;
        while (!over.get()) {
            int number = random.nextInt(50);
            int size = number % 5 == 0 ? 100_000 : 100;
            byte[] value = new byte[size];
            Arrays.fill(value, (byte) number);
            try {
                client.async().set("k" + number, ByteBuffer.wrap(value), 0, 0);
                Value got = client.get("k" + number);
                assertTrue(got == null || Arrays.equals(got.bytes(), value), "another value of k" + number);
                client.getAll(List.of("k1", "k5", "k7", "k10"));
                answers++;
            } catch (MemcachedException e) {
                assertTrue(e.getMessage().startsWith("127.0.0.1:"), e.getMessage());
            }
        }
        return answers;
    }

    @Test
    void close_ends_calls_on_their_way() throws Exception {
        try (ServerProcess server = start("a")) {
            MemcachedClient client = open(server.address(), ServerProcess.PATIENT);
            client.set("key", new byte[10]);
            server.signal("STOP");
            CompletableFuture<Value> get = client.async().get("missing"); // which no one-sided get finds
            client.close();
            client.close();
            ExecutionException closed = assertThrows(ExecutionException.class, () -> get.get(60, TimeUnit.SECONDS));
            assertEquals(Kind.CLOSED, ((MemcachedException) closed.getCause()).kind());
            assertEquals(Kind.CLOSED, failure(() -> client.get("key")).kind());
        }
    }

    @Test
    void a_functions_interrupt_of_the_clients_thread_ends_with_it() throws Exception {
        try (ServerProcess server = start("a"); MemcachedClient client = open(server.address(), ServerProcess.PATIENT)) {
            client.set("key", new byte[10]);
            Thread me = Thread.currentThread();
            AtomicBoolean done = new AtomicBoolean();
            ServerProcess.until("a function on the client's thread", () -> {
                client.async().get("key").thenRun(() -> {
                    if (Thread.currentThread() != me) { // an answer that is there already runs it here
                        Thread.currentThread().interrupt();
                        done.set(true);
                    }
                }).join();
                return done.get();
            });
            AtomicBoolean free = new AtomicBoolean();
            ServerProcess.until("the thread without the interrupt", () -> {
                client.async().get("key").handle((value, failure) -> {
                    free.compareAndSet(false, Thread.currentThread() != me && !Thread.currentThread().isInterrupted());
                    return null;
                }).join();
                return free.get();
            });
            assertEquals(10, client.get("key").bytes().length);
        }
    }

    @Test
    void close_ends_the_wait_of_another_thread() throws Exception {
        try (ServerProcess server = start("a")) {
            MemcachedClient client = open(server.address(), ServerProcess.PATIENT);
            client.set("key", new byte[10]);
            server.signal("STOP");
            List<CompletableFuture<MemcachedException>> waits = new ArrayList<>();
            for (int i = 0; i < 3; i++) {
                String key = "missing" + i; // which no one-sided get finds
                waits.add(CompletableFuture.supplyAsync(() -> failure(() -> client.get(key)), task -> new Thread(task).start()));
            }
            ServerProcess.until("three calls", () -> client.cluster().servers().get(0).count() == 3);
            client.close();
            for (CompletableFuture<MemcachedException> wait : waits) {
                assertEquals(Kind.CLOSED, wait.get(50, TimeUnit.SECONDS).kind());
            }
        }
    }

    @Test
    void an_interrupt_stays_set_and_ends_nothing() throws Exception {
        try (ServerProcess server = start("a"); MemcachedClient client = open(server.address(), ServerProcess.PATIENT)) {
            Thread.currentThread().interrupt();
            client.set("key", new byte[10]);
            assertTrue(Thread.interrupted());
            assertEquals(10, client.get("key").bytes().length);
        }
    }

    @Test
    void answers_that_make_no_sense_end_the_connection_and_not_the_client() throws Exception {
        Map<String, String> answers = Map.of(
            "wrongnumber", "HD O999\r\n", "nonumber", "HD\r\n", "noise", "\u00ff\u0001\u0002\r\n",
            "shortvalue", "VA 3 O0\r\nabcdef\r\n", "huge", "VA 2147483646 O0\r\n", "endless", "x".repeat(10_000),
            "unasked", "EN O0\r\nEN O1\r\n", "close", "close", "badcode", "QQ O0\r\n",
            "twice", "VA 1 f9 O0\r\na\r\nVA 1 O0\r\nb\r\n");
        for (Map.Entry<String, String> entry : answers.entrySet()) {
            try (ScriptedServer server = ScriptedServer.answering(entry.getValue());
                MemcachedClient client = open(server.address(), ";timeout=10000")) {
                boolean answered = entry.getKey().equals("unasked") || entry.getKey().equals("twice");
                if (answered) { // the first answer is right
                    client.get("key");
                }
                ServerProcess.until("the end of the connection: " + entry.getKey(), () -> {
                    if (!answered) {
                        assertEquals(Kind.SERVER_DEAD, failure(() -> client.get("key")).kind(), entry.getKey());
                    }
                    return client.explain().get(0).contains("not connected: ") || client.explain().get(0).contains("connecting: ");
                });
            }
        }
    }

    @Test
    void a_value_that_never_comes_whole_costs_no_memory_and_ends_with_the_time() throws Exception {
        try (ScriptedServer server = ScriptedServer.answering("VA 2000000000 O0\r\nabc");
            MemcachedClient client = open(server.address(), ";timeout=300")) {
            assertEquals(Kind.TIMEOUT, failure(() -> client.get("key")).kind());
            ServerProcess.until("the end of the connection", () -> server.open.get() == 0);
        }
    }
}
