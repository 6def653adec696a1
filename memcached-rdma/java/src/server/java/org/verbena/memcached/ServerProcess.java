// SPDX-License-Identifier: Apache-2.0
package org.verbena.memcached;

import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.net.SocketAddress;
import java.net.UnixDomainSocketAddress;
import java.nio.channels.SocketChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.function.BooleanSupplier;
import java.util.stream.Stream;

/** A memcached server in a process of its own, on loopback, for tests: Verbena's or Debian's. */
public final class ServerProcess implements AutoCloseable {
    /** Options of a client: times that no load uses up. */
    public static final String PATIENT = ";connect=60000;timeout=60000";
    private static final int LIMIT_SECONDS = 60;
    private static final Path BUILT = Path.of("../../.verbena/build/memcached-release/verbena-memcached");

    private final Path folder;
    private final List<String> command;
    /** Has the port, which nobody else gets while the server is away; a server has it, too, as it asks for reuse. */
    private final Socket held = new Socket();
    private final SocketAddress at;
    private final String address;
    private Process process;

    private ServerProcess(Path folder, List<String> command) throws IOException {
        this.folder = folder;
        this.command = command;
        Path socket = folder.resolve("socket");
        if (command.contains(socket.toString())) {
            at = UnixDomainSocketAddress.of(socket);
            address = socket.toString();
        } else {
            held.bind(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0));
            held.setReuseAddress(true); // after bind: it was free
            at = held.getLocalSocketAddress();
            address = "127.0.0.1:" + held.getLocalPort();
            command.addAll(List.of("-p", Integer.toString(held.getLocalPort())));
        }
        start();
    }

    /** The path of a program, or the test is skipped. */
    private static String program(String variable, Path standard, String cure) {
        String named = System.getenv(variable);
        Path path = named == null ? standard : Path.of(named);
        assumeTrue(Files.isExecutable(path), "no " + path + ": " + cure);
        return path.toString();
    }

    /** Debian's. */
    public static ServerProcess stock(Path folder) throws IOException {
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
        List<String> all = new ArrayList<>(List.of("-o", "verbena_key=" + key));
        all.addAll(List.of(options));
        return plain(folder, all.toArray(String[]::new));
    }

    /** Verbena's, with its key where that is without an option. */
    public static ServerProcess plain(Path folder, String... options) throws IOException {
        List<String> command = command(program("VERBENA_MEMCACHED", BUILT, "run ./verbena build memcached"));
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

    private void start() throws IOException {
        Path log = Files.createTempFile(folder, "server", ".log");
        process = new ProcessBuilder(command).redirectErrorStream(true).redirectOutput(log.toFile()).start();
        until("a server that listens", () -> !process.isAlive() || listens());
        assertTrue(process.isAlive(), () -> "the server has ended: " + read(log));
    }

    private boolean listens() {
        try (SocketChannel channel = SocketChannel.open(at)) {
            return channel.isConnected();
        } catch (IOException e) {
            return false;
        }
    }

    private static String read(Path file) {
        try {
            return Files.readString(file);
        } catch (IOException e) {
            return "";
        }
    }

    public String address() {
        return address;
    }

    /** The servers of a client that waits. */
    String patient() {
        return address + PATIENT;
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

    public void kill() throws InterruptedException {
        assertTrue(process.destroyForcibly().waitFor(LIMIT_SECONDS, TimeUnit.SECONDS), "the end of a killed server");
    }

    /** The same server again, on the same port. */
    public void restart() throws IOException {
        start();
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
        try {
            held.close();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** Waits for a condition. */
    public static void until(String what, BooleanSupplier condition) {
        long end = System.nanoTime() + TimeUnit.SECONDS.toNanos(LIMIT_SECONDS);
        while (!condition.getAsBoolean()) {
            assertTrue(System.nanoTime() - end < 0, "not within " + LIMIT_SECONDS + " s: " + what);
            java.util.concurrent.locks.LockSupport.parkNanos(1_000_000);
        }
    }
}
