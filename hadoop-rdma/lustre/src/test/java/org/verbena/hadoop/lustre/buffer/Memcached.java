// SPDX-License-Identifier: Apache-2.0
// A memcached server in a process of its own, on loopback.
package org.verbena.hadoop.lustre.buffer;

import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.io.IOException;
import java.net.InetAddress;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.UUID;
import java.util.concurrent.TimeUnit;
import java.util.function.BooleanSupplier;

/** Verbena's, or another one. It ends with {@link #close}. */
final class Memcached implements AutoCloseable {
    private static final int LIMIT_SECONDS = 60;
    private static final String BUILT = "../../.verbena/build/memcached-release/verbena-memcached";

    private final Path folder;
    private final List<String> command;
    private Process process;
    private int port;

    private Memcached(Path folder, String program, String... options) throws IOException {
        this.folder = folder;
        assumeTrue(Files.isExecutable(Path.of(program)), "no " + program + ": run ./verbena build memcached");
        command = new ArrayList<>(List.of(program, "-l", "127.0.0.1", "-U", "0", "-t", "1"));
        if (System.getProperty("user.name").equals("root")) {
            command.addAll(List.of("-u", "root"));
        }
        command.addAll(List.of(options));
        start("-1");
    }

    static Memcached start(Path folder, String... options) throws IOException {
        String named = System.getenv("VERBENA_MEMCACHED");
        return new Memcached(folder, named == null ? BUILT : named, options);
    }

    static Memcached stock(Path folder) throws IOException {
        String named = System.getenv("VERBENA_STOCK_MEMCACHED");
        return new Memcached(folder, named == null ? "/usr/bin/memcached" : named, "-m", "64");
    }

    private void start(String portOption) throws IOException {
        Path ports = folder.resolve("ports-" + UUID.randomUUID());
        Path log = folder.resolve("server-" + UUID.randomUUID() + ".log");
        List<String> whole = new ArrayList<>(command);
        whole.addAll(List.of("-p", portOption));
        ProcessBuilder builder = new ProcessBuilder(whole).redirectErrorStream(true).redirectOutput(log.toFile());
        builder.environment().put("MEMCACHED_PORT_FILENAME", ports.toString());
        process = builder.start();
        until("a server that listens", () -> !process.isAlive() || read(ports).contains("TCP INET: "));
        assertTrue(process.isAlive(), () -> "the server has ended: " + read(log));
        port = Integer.parseInt(read(ports).replaceAll("(?s).*TCP INET: (\\d+).*", "$1"));
    }

    private static String read(Path file) {
        try {
            return Files.readString(file);
        } catch (IOException e) {
            return "";
        }
    }

    String address() {
        return "127.0.0.1:" + port;
    }

    /** Items that only their release or deletion ends. */
    int pinned() throws IOException {
        try (Socket socket = new Socket(InetAddress.getLoopbackAddress(), port)) {
            socket.getOutputStream().write("stats verbena\r\nquit\r\n".getBytes(StandardCharsets.US_ASCII));
            String all = new String(socket.getInputStream().readAllBytes(), StandardCharsets.US_ASCII);
            return Integer.parseInt(all.replaceAll("(?s).*STAT pinned_items (\\d+).*", "$1"));
        }
    }

    void kill() throws InterruptedException {
        assertTrue(process.destroyForcibly().waitFor(LIMIT_SECONDS, TimeUnit.SECONDS));
    }

    /** An empty server on the same port. */
    void restart() throws IOException {
        start(Integer.toString(port));
    }

    @Override
    public void close() {
        process.destroyForcibly();
    }

    static void until(String what, BooleanSupplier condition) {
        long end = System.nanoTime() + TimeUnit.SECONDS.toNanos(LIMIT_SECONDS);
        while (!condition.getAsBoolean()) {
            assertTrue(System.nanoTime() - end < 0, "not within " + LIMIT_SECONDS + " s: " + what);
            java.util.concurrent.locks.LockSupport.parkNanos(1_000_000);
        }
    }
}
