// SPDX-License-Identifier: Apache-2.0
// A writer or a flusher in a process of its own, which kills itself at a step.
package org.verbena.hadoop.lustre.buffer;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;

/** Runs to its end before it is looked at. */
final class Mortal {
    private static final int LIMIT_SECONDS = 300;
    private static final int KILLED = 128 + 9;

    private final int status;
    private final String said;

    private Mortal(int status, String said) {
        this.status = status;
        this.said = said;
    }

    /** Role: "write" and the path of the bytes, or "flush". */
    static Mortal start(Place place, String servers, Fault fault, int step, String... role) throws Exception {
        List<String> command = new ArrayList<>(List.of(Path.of(System.getProperty("java.home"), "bin", "java").toString(),
            "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-cp", System.getProperty("java.class.path"), Mortal.class.getName(),
            place.root.getParent().toString(), servers, fault.name(), Integer.toString(step)));
        command.addAll(List.of(role));
        Path log = Files.createTempFile("mortal", ".log");
        try {
            Process process = new ProcessBuilder(command).redirectErrorStream(true).redirectOutput(log.toFile()).start();
            boolean ended = process.waitFor(LIMIT_SECONDS, TimeUnit.SECONDS);
            process.destroyForcibly();
            assertTrue(ended, () -> command + " did not end: " + read(log));
            return new Mortal(process.exitValue(), read(log));
        } finally {
            Files.delete(log);
        }
    }

    private static String read(Path log) {
        try {
            return Files.readString(log, StandardCharsets.UTF_8);
        } catch (IOException e) {
            return e.toString();
        }
    }

    boolean wasKilled() {
        assertTrue(status == KILLED || status == 0, () -> "status " + status + ": " + said);
        return status == KILLED;
    }

    /** Bytes of which the writer was told that they are safe. */
    int acknowledged() {
        int most = 0;
        for (String line : said.split("\n")) {
            if (line.startsWith("safe ")) {
                most = Integer.parseInt(line.substring("safe ".length()).strip());
            }
        }
        return most;
    }

    /** The process: folder, servers, fault, step, role. */
    public static void main(String[] arguments) throws Exception {
        Place place = new Place(Path.of(arguments[0]));
        int[] left = {Integer.parseInt(arguments[3])};
        try (Buffer buffer = place.process(arguments[1], Fault.valueOf(arguments[2]), what -> {
            if (--left[0] == 0) {
                kill();
            }
        })) {
            if (arguments[4].equals("write")) {
                place.writeInPieces(buffer, "file", Files.readAllBytes(Path.of(arguments[5])),
                    length -> System.out.println("safe " + length));
            } else {
                assertEquals(List.of(), new Flusher(buffer).pass().problems());
            }
        }
    }

    /** No hook of the JVM runs, and no other thread goes on. */
    private static void kill() {
        try {
            new ProcessBuilder("kill", "-KILL", Long.toString(ProcessHandle.current().pid())).start().waitFor();
            Thread.sleep(TimeUnit.SECONDS.toMillis(LIMIT_SECONDS));
        } catch (IOException | InterruptedException e) {
            throw new AssertionError(e);
        }
    }
}
