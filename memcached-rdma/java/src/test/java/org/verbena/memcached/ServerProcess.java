// SPDX-License-Identifier: Apache-2.0
package org.verbena.memcached;

import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.function.BooleanSupplier;
import java.util.stream.Stream;

/** A memcached server in a process of its own, on loopback: Verbena's or Debian's. */
final class ServerProcess implements AutoCloseable {
    private static final int LIMIT_SECONDS = 60;
    private static final Path BUILT = Path.of("../../.verbena/build/memcached-release/verbena-memcached");

    private final Path folder;
    private final List<String> command;
    private Process process;
    private String address;

    private ServerProcess(Path folder, List<String> command) throws IOException {
        this.folder = folder;
        this.command = command;
        start("-1");
    }

    /** The path of a program, or the test is skipped. */
    private static String program(String variable, Path standard, String cure) {
        String named = System.getenv(variable);
        Path path = named == null ? standard : Path.of(named);
        assumeTrue(Files.isExecutable(path), "no " + path + ": " + cure);
        return path.toString();
    }

    /** Debian's. */
    static ServerProcess stock(Path folder) throws IOException {
        return new ServerProcess(folder, command(program("VERBENA_STOCK_MEMCACHED", Path.of("/usr/bin/memcached"),
            "install the package memcached")));
    }

    /** Verbena's; options as on its command line. Its key is in {@link #keyFile}. */
    static ServerProcess verbena(Path folder, String... options) throws IOException {
        Path key = folder.resolve("memcached.key");
        if (!Files.exists(key)) {
            Files.createFile(key, PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString("rw-------")));
            Files.writeString(key, "0123456789abcdef".repeat(4) + "\n");
        }
        List<String> command = command(program("VERBENA_MEMCACHED", BUILT, "run ./verbena build memcached"));
        command.addAll(List.of("-o", "verbena_key=" + key));
        command.addAll(List.of(options));
        return new ServerProcess(folder, command);
    }

    /** Verbena's on a Unix socket. */
    static ServerProcess unix(Path folder) throws IOException {
        return verbena(folder, "-s", folder.resolve("socket").toString());
    }

    private static List<String> command(String program) {
        List<String> command = new ArrayList<>(List.of(program, "-l", "127.0.0.1", "-U", "0", "-m", "64", "-t", "2"));
        if (System.getProperty("user.name").equals("root")) {
            command.addAll(List.of("-u", "root"));
        }
        return command;
    }

    private void start(String portOption) throws IOException {
        Path ports = Files.createTempFile(folder, "ports", "");
        Path socket = folder.resolve("socket");
        boolean unix = command.contains(socket.toString());
        List<String> whole = new ArrayList<>(command);
        whole.addAll(unix ? List.of() : List.of("-p", portOption));
        ProcessBuilder builder = new ProcessBuilder(whole).redirectErrorStream(true)
            .redirectOutput(folder.resolve("server.log").toFile());
        builder.environment().put("MEMCACHED_PORT_FILENAME", ports.toString());
        process = builder.start();
        until("a server that listens",
            () -> !process.isAlive() || (unix ? Files.exists(socket) : read(ports).contains("TCP INET: ")));
        assertTrue(process.isAlive(), () -> "the server has ended: " + read(folder.resolve("server.log")));
        address = unix ? socket.toString() : "127.0.0.1:" + read(ports).replaceAll("(?s).*TCP INET: (\\d+).*", "$1");
    }

    private static String read(Path file) {
        try {
            return Files.readString(file);
        } catch (IOException e) {
            return "";
        }
    }

    String address() {
        return address;
    }

    Path keyFile() {
        return folder.resolve("memcached.key");
    }

    /** Stops or continues it, or the like; a stopped server answers nothing any more. */
    void signal(String name) throws Exception {
        assertTrue(new ProcessBuilder("kill", "-" + name, Long.toString(process.pid())).start().waitFor() == 0, name);
        if (name.equals("STOP")) {
            until("all of its threads stand still", this::stopped);
        }
    }

    private boolean stopped() {
        try (Stream<Path> threads = Files.list(Path.of("/proc", Long.toString(process.pid()), "task"))) {
            return threads.allMatch(thread -> read(thread.resolve("stat")).replaceAll("(?s).*\\) (.).*", "$1").equals("T"));
        } catch (IOException e) {
            return false;
        }
    }

    void kill() throws InterruptedException {
        process.destroyForcibly().waitFor(LIMIT_SECONDS, TimeUnit.SECONDS);
    }

    /** The same server again, on the same port. */
    void restart() throws IOException {
        start(address.substring(address.indexOf(':') + 1));
    }

    /** The same server again, which has saved its items (-e). */
    void restartWarm() throws Exception {
        signal("USR1");
        assertTrue(process.waitFor(LIMIT_SECONDS, TimeUnit.SECONDS), "a server that saves its items and ends");
        restart();
    }

    @Override
    public void close() {
        process.destroyForcibly();
    }

    /** Waits for a condition. */
    static void until(String what, BooleanSupplier condition) {
        long end = System.nanoTime() + TimeUnit.SECONDS.toNanos(LIMIT_SECONDS);
        while (!condition.getAsBoolean()) {
            assertTrue(System.nanoTime() - end < 0, "not within " + LIMIT_SECONDS + " s: " + what);
            java.util.concurrent.locks.LockSupport.parkNanos(1_000_000);
        }
    }
}
