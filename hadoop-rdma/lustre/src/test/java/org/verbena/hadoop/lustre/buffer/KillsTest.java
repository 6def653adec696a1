// SPDX-License-Identifier: Apache-2.0
package org.verbena.hadoop.lustre.buffer;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.EnabledIfEnvironmentVariable;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.verbena.hadoop.lustre.buffer.Place.KillAt;
import org.verbena.hadoop.lustre.buffer.Place.Killed;

/** Writers, flushers and servers that are killed at each step which leaves something behind, at each level of fault. */
class KillsTest {
    private static final boolean FULL = System.getenv("VERBENA_TEST_FULL") != null;
    private static final int LENGTH = 5 * Place.CHUNK + 1000;
    private static final int TAIL = 100; // goes to the shared file
    private static final String CLOSED = "closed"; // the step of a writer after which a flusher has the file

    @TempDir
    Path folder;
    private Place place;
    private Memcached[] all;
    private String servers;

    @BeforeEach
    void open() throws IOException {
        place = new Place(folder);
        all = new Memcached[] {Memcached.start(folder, "-m", "64"), Memcached.start(folder, "-m", "64")};
        servers = all[0].address() + "," + all[1].address();
    }

    @AfterEach
    void close() {
        for (Memcached server : all) {
            server.close();
        }
    }

    private void flushAll(Fault fault) throws IOException {
        place.flushAll(servers, fault);
        assertEquals(0, all[0].pinned() + all[1].pinned());
    }

    /** The file has all bytes of a writer, or as many as it had been told that they are safe, and then more in their order. */
    private void expectPrefix(byte[] bytes, int acknowledged, String when) throws IOException {
        byte[] left = Files.readAllBytes(place.root.resolve("file"));
        assertTrue(left.length >= acknowledged, left.length + " of " + acknowledged + " bytes, " + when);
        place.expectFile("file", Arrays.copyOf(bytes, left.length));
        Files.delete(place.root.resolve("file"));
    }

    /** Writes a file that a flusher has to flush: with sync, its writer would do so, and is killed before. */
    private void leave(byte[] bytes, Fault fault) throws IOException {
        try (Buffer writer = place.process(servers, fault, what -> {
            if (fault == Fault.SYNC && what.equals(CLOSED)) {
                throw new Killed();
            }
        })) {
            place.write(writer, "file", bytes);
        } catch (Killed e) {
            assertEquals(Fault.SYNC, fault);
        }
    }

    @ParameterizedTest
    @EnumSource(Fault.class)
    void a_writer_may_be_killed_at_each_step_and_acknowledged_bytes_stay(Fault fault) throws Exception {
        byte[] bytes = Place.bytes(3, LENGTH + TAIL);
        boolean killed = true;
        for (int step = 1; killed; step++) {
            int[] acknowledged = {0};
            killed = false;
            try (Buffer writer = place.process(servers, fault, new KillAt(step))) {
                place.writeInPieces(writer, "file", bytes, length -> acknowledged[0] = length);
            } catch (Killed e) {
                killed = true;
            }
            flushAll(fault);
            expectPrefix(bytes, acknowledged[0], "step " + step);
        }
    }

    @ParameterizedTest
    @EnumSource(Fault.class)
    void a_flusher_may_be_killed_at_each_step(Fault fault) throws Exception {
        byte[] bytes = Place.bytes(4, LENGTH + TAIL);
        boolean killed = true;
        int step = 1;
        for (; killed; step++) {
            killed = false;
            leave(bytes, fault);
            try (Buffer flusher = place.process(servers, fault, new KillAt(step));
                    Buffer reader = place.process(servers, fault, Steps.NONE)) {
                try {
                    new Flusher(flusher).pass();
                } catch (Killed e) {
                    killed = true;
                }
                assertArrayEquals(bytes, place.read(reader, "file"), "step " + step);
            }
            flushAll(fault);
            place.expectFile("file", bytes);
            Files.delete(place.root.resolve("file"));
        }
        assertTrue(step > 14, step + " steps");
    }

    @Test
    void a_flusher_that_dies_in_a_large_file_is_followed_by_one_that_goes_on() throws Exception {
        byte[] bytes = Place.bytes(5, 150 * Place.CHUNK);
        for (int step : new int[] {40, 67, 68, 69, 100, 140}) {
            leave(bytes, Fault.ASYNC);
            try (Buffer reader = place.process(servers, Fault.ASYNC, Steps.NONE);
                    Buffer flusher = place.process(servers, Fault.ASYNC, new KillAt(step))) {
                assertThrows(Killed.class, () -> new Flusher(flusher).pass());
                assertArrayEquals(bytes, place.read(reader, "file"), "step " + step);
            }
            flushAll(Fault.ASYNC);
            place.expectFile("file", bytes);
            Files.delete(place.root.resolve("file"));
        }
    }

    /** Kills a server when its process comes to a step, and starts it again, empty, afterwards. */
    private final class ServerKill implements Steps {
        private final Memcached server;
        private int left;

        ServerKill(Memcached server, int step) {
            this.server = server;
            left = step;
        }

        @Override
        public void at(String what) {
            if (--left == 0) {
                try {
                    server.kill();
                } catch (InterruptedException e) {
                    throw new IllegalStateException(e);
                }
            }
        }

        boolean isDone() throws IOException {
            if (left <= 0) {
                server.restart();
            }
            return left <= 0;
        }
    }

    /** What is done with the servers while one of them is killed at a step. */
    private interface Work {
        void run(Steps steps) throws IOException;
    }

    /** Each server at each step, or at some of them: the file is whole, or async says which chunks it lacks. */
    private void killServers(Fault fault, byte[] bytes, Work work) throws Exception {
        boolean killed = true;
        for (int step = 1; killed; step += FULL ? 1 : 3) {
            for (Memcached server : FULL ? all : new Memcached[] {all[step % 2]}) {
                ServerKill kill = new ServerKill(server, step);
                work.run(kill);
                killed = kill.isDone();
                if (isWhole(fault)) {
                    place.expectFile("file", bytes);
                }
                Files.delete(place.root.resolve("file"));
                flushAll(fault);
            }
        }
    }

    private boolean isWhole(Fault fault) throws IOException {
        try (Buffer late = place.late(servers, fault)) {
            Flusher.Pass pass = new Flusher(late).pass();
            if (pass.left() > 0) {
                assertEquals(Fault.ASYNC, fault, pass::toString);
                assertTrue(pass.problems().get(0).matches("file lacks chunk \\d+ \\(bytes \\d+ to \\d+\\).*"), pass::toString);
            }
            return pass.left() == 0;
        }
    }

    @ParameterizedTest
    @EnumSource(Fault.class)
    void a_server_may_be_killed_at_each_step_of_a_writer(Fault fault) throws Exception {
        byte[] bytes = Place.bytes(12, LENGTH + TAIL);
        killServers(fault, bytes, steps -> {
            try (Buffer writer = place.process(servers, fault, steps)) {
                place.write(writer, "file", bytes);
            }
        });
    }

    @ParameterizedTest
    @EnumSource(Fault.class)
    void a_server_may_be_killed_at_each_step_of_a_flusher(Fault fault) throws Exception {
        byte[] bytes = Place.bytes(22, LENGTH + TAIL);
        killServers(fault, bytes, steps -> {
            leave(bytes, fault);
            try (Buffer flusher = place.process(servers, fault, steps)) {
                new Flusher(flusher).pass();
            }
        });
    }

    @ParameterizedTest
    @EnumSource(Fault.class)
    @EnabledIfEnvironmentVariable(named = "VERBENA_TEST_FULL", matches = "1")
    void processes_that_write_may_be_killed_at_each_step(Fault fault) throws Exception {
        byte[] bytes = Place.bytes(23, LENGTH + TAIL);
        Path source = Files.write(folder.resolve("source"), bytes);
        int step = 1;
        for (boolean killed = true; killed; step++) {
            Mortal writer = Mortal.start(place, servers, fault, step, "write", source.toString());
            killed = writer.wasKilled();
            flushAll(fault);
            expectPrefix(bytes, writer.acknowledged(), "step " + step);
        }
        assertTrue(step > 14, step + " steps");
    }

    @ParameterizedTest
    @EnumSource(Fault.class)
    @EnabledIfEnvironmentVariable(named = "VERBENA_TEST_FULL", matches = "1")
    void processes_that_flush_may_be_killed_at_each_step(Fault fault) throws Exception {
        byte[] bytes = Place.bytes(24, LENGTH + TAIL);
        int step = 1;
        for (boolean killed = true; killed; step++) {
            leave(bytes, fault);
            killed = Mortal.start(place, servers, fault, step, "flush").wasKilled();
            flushAll(fault);
            place.expectFile("file", bytes);
            Files.delete(place.root.resolve("file"));
        }
        assertTrue(step > 14, step + " steps");
    }
}
