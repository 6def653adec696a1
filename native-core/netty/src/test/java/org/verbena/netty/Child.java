// SPDX-License-Identifier: Apache-2.0
package org.verbena.netty;

import java.io.BufferedReader;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.List;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;

/** An echo server in a second JVM, which ends when its standard input does, and in any case after a time. */
final class Child implements AutoCloseable {
    private static final long LIFE_SECONDS = 300;

    private final Process process;
    private final BlockingQueue<String> lines = new LinkedBlockingQueue<>();

    Child(String transports) throws IOException {
        List<String> command = new ArrayList<>();
        command.add(Path.of(System.getProperty("java.home"), "bin", "java").toString());
        command.addAll(List.of("-Xmx128m", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC",
            "-Dio.netty.leakDetection.level=paranoid", "-cp",
            System.getProperty("surefire.test.class.path", System.getProperty("java.class.path")), Child.class.getName(),
            transports));
        process = new ProcessBuilder(command).redirectErrorStream(true).start();
        Thread reader = new Thread(this::read, "child-output");
        reader.setDaemon(true);
        reader.start();
    }

    private void read() {
        try (BufferedReader in = process.inputReader()) {
            for (String line = in.readLine(); line != null; line = in.readLine()) {
                lines.add(line);
            }
        } catch (IOException e) {
            lines.add("unreadable: " + e);
        }
    }

    /** Waits for a line that begins with the word; returns the rest of it. */
    String expect(String word) throws InterruptedException {
        List<String> others = new ArrayList<>();
        for (String line = next(); line != null; line = next()) {
            if (line.startsWith(word)) {
                return line.substring(word.length()).strip();
            }
            others.add(line);
        }
        throw new AssertionError("no line " + word + " from the child, but: " + others);
    }

    private String next() throws InterruptedException {
        return lines.poll(Rig.SECONDS, TimeUnit.SECONDS);
    }

    long pid() {
        return process.pid();
    }

    /** Lets it end by itself. */
    int finish() throws Exception {
        process.getOutputStream().close();
        if (!process.waitFor(Rig.SECONDS, TimeUnit.SECONDS)) {
            throw new AssertionError("the child does not end: " + lines);
        }
        return process.exitValue();
    }

    /** SIGKILL. */
    void kill() {
        process.destroyForcibly();
    }

    @Override
    public void close() {
        process.destroyForcibly();
    }

    // --------------------------------------------------------------------------------------- in the second JVM

    public static void main(String[] arguments) throws Exception {
        TestWatch.start(LIFE_SECONDS);
        Rig rig = new Rig(arguments[0]);
        VbnAddress direct = (VbnAddress) rig.bind(VbnAddress.local(9), Echo::new).localAddress();
        System.out.println("engine " + HexFormat.of().formatHex(direct.engine()));
        System.out.println("tcp "
            + ((java.net.InetSocketAddress) rig.bind(Rig.ANY_PORT, Echo::new).localAddress()).getPort());
        System.in.readAllBytes();
        Rig.await("all streams closed", () -> rig.servers.counters().get("stream.open") == 0);
        rig.close();
        System.out.println("ended");
    }
}
