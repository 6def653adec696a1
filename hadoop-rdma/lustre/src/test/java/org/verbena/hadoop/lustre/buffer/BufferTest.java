// SPDX-License-Identifier: Apache-2.0
package org.verbena.hadoop.lustre.buffer;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.attribute.FileTime;
import java.util.Arrays;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** Files in the buffer: written, read, flushed, and all that may go wrong in between. */
class BufferTest {
    private static final int LENGTH = 5 * Place.CHUNK + 1000;
    private static final int TAIL = 100; // goes to the shared file

    @TempDir
    Path folder;
    private Place place;
    private Memcached first;
    private Memcached second;
    private String servers;

    @BeforeEach
    void open() throws IOException {
        place = new Place(folder);
        first = Memcached.start(folder, "-m", "64");
        second = Memcached.start(folder, "-m", "64");
        servers = first.address() + "," + second.address();
    }

    @AfterEach
    void close() {
        for (Memcached server : new Memcached[] {first, second}) {
            if (server != null) {
                server.close();
            }
        }
    }

    private Buffer process(Fault fault) {
        return place.process(servers, fault, Steps.NONE);
    }

    private int pinned() throws IOException {
        return first.pinned() + second.pinned();
    }

    private void flushAll(Fault fault) throws IOException {
        place.flushAll(servers, fault);
        assertEquals(0, pinned());
    }

    @ParameterizedTest
    @EnumSource(Fault.class)
    void a_file_is_read_from_the_servers_and_then_from_the_shared_directory(Fault fault) throws Exception {
        byte[] bytes = Place.bytes(1, LENGTH + TAIL);
        try (Buffer writer = process(fault); Buffer reader = process(fault)) {
            place.write(writer, "file", bytes);
            assertEquals(fault == Fault.SYNC ? 0 : 6, pinned());
            assertArrayEquals(bytes, place.read(reader, "file"));
            try (Content early = reader.open(place.root.resolve("file"), "file")) {
                flushAll(fault);
                ByteBuffer all = ByteBuffer.allocate(bytes.length);
                while (all.hasRemaining()) {
                    assertTrue(early.read(all, all.position()) > 0);
                }
                assertArrayEquals(bytes, all.array());
            }
        }
        place.expectFile("file", bytes);
    }

    @Test
    void small_files_need_neither_servers_nor_records() throws Exception {
        try (Buffer writer = process(Fault.ASYNC)) {
            place.write(writer, "small", Place.bytes(1, Place.CHUNK / 8 - 1));
            place.write(writer, "empty", new byte[0]);
        }
        assertEquals(0, pinned());
        place.expectFile("small", Place.bytes(1, Place.CHUNK / 8 - 1));
        assertFalse(Files.exists(place.root.resolve(Records.FOLDER)));
    }

    @Test
    void flushed_bytes_are_seen_while_the_file_is_written_and_forced_ones_are_on_the_shared_directory() throws Exception {
        byte[] bytes = Place.bytes(2, LENGTH);
        try (Buffer writer = process(Fault.ASYNC); Buffer reader = process(Fault.ASYNC)) {
            Sink sink = place.create(writer, "file");
            for (int from = 0; from < bytes.length; from += 1500) {
                sink.write(ByteBuffer.wrap(bytes, from, Math.min(1500, bytes.length - from)));
                sink.flush();
                assertArrayEquals(Arrays.copyOf(bytes, Math.min(from + 1500, bytes.length)), place.read(reader, "file"));
            }
            assertTrue(pinned() > 0);
            sink.force();
            assertEquals(0, pinned());
            assertArrayEquals(bytes, Files.readAllBytes(place.root.resolve("file")));
            sink.write(ByteBuffer.wrap(bytes));
            sink.close();
        }
        flushAll(Fault.ASYNC);
        place.expectFile("file", ByteBuffer.allocate(2 * LENGTH).put(bytes).put(bytes).array());
    }

    /** Does something to the name when a flusher comes to a step. */
    private void during(int step, byte[] bytes, Change change) throws IOException {
        try (Buffer writer = process(Fault.ASYNC)) {
            place.write(writer, "file", bytes);
            int[] seen = {0};
            try (Buffer flusher = place.process(servers, Fault.ASYNC, what -> {
                if (++seen[0] == step) {
                    change.run(writer);
                }
            })) {
                new Flusher(flusher).pass();
            }
        }
    }

    /** What another client does. */
    private interface Change {
        void make(Buffer process) throws IOException;

        default void run(Buffer process) {
            try {
                make(process);
            } catch (IOException e) {
                throw new AssertionError(e);
            }
        }
    }

    private static final int STEPS = 15;

    @Test
    void a_file_that_is_deleted_during_its_flush_stays_deleted() throws Exception {
        for (int step = 1; step <= STEPS; step++) {
            during(step, Place.bytes(6, LENGTH), process -> Files.delete(place.root.resolve("file")));
            flushAll(Fault.ASYNC);
            assertFalse(Files.exists(place.root.resolve("file")), "step " + step);
        }
    }

    @Test
    void a_file_that_is_renamed_during_its_flush_is_whole_under_its_new_name() throws Exception {
        byte[] bytes = Place.bytes(7, LENGTH);
        Files.createDirectory(place.root.resolve("c"));
        for (int step = 1; step <= STEPS; step++) {
            during(step, bytes, process ->
                Files.move(place.root.resolve("file"), place.root.resolve("c/b"), StandardCopyOption.ATOMIC_MOVE));
            flushAll(Fault.ASYNC);
            assertFalse(Files.exists(place.root.resolve("file")), "step " + step);
            place.expectFile("c/b", bytes);
        }
    }

    @Test
    void a_file_that_is_written_anew_during_the_flush_of_the_old_one_has_the_new_bytes() throws Exception {
        byte[] other = Place.bytes(9, LENGTH - 2000);
        for (int step = 1; step <= STEPS; step++) {
            int at = step;
            during(step, Place.bytes(8, LENGTH), process -> {
                Files.delete(place.root.resolve("file"));
                place.write(process, "file", other);
                assertArrayEquals(other, place.read(process, "file"), "step " + at);
            });
            flushAll(Fault.ASYNC);
            place.expectFile("file", other);
            Files.delete(place.root.resolve("file"));
        }
    }

    @Test
    void who_reads_a_file_that_is_deleted_before_its_flush_gets_an_error_and_never_a_hole() throws Exception {
        byte[] bytes = Place.bytes(18, LENGTH);
        try (Buffer writer = process(Fault.ASYNC); Buffer reader = process(Fault.ASYNC)) {
            place.write(writer, "file", bytes);
            try (Content early = reader.open(place.root.resolve("file"), "file")) {
                Files.delete(place.root.resolve("file"));
                flushAll(Fault.ASYNC);
                IOException gone = assertThrows(IOException.class, () -> early.read(ByteBuffer.allocate(LENGTH), 0));
                assertTrue(gone.getMessage().startsWith("file was deleted or cut while it was read"), gone.getMessage());
            }
        }
    }

    @Test
    void a_lost_server_damages_a_file_of_async_and_the_error_names_chunks_and_file() throws Exception {
        byte[] bytes = Place.bytes(10, 20 * Place.CHUNK);
        try (Buffer writer = process(Fault.ASYNC); Buffer late = place.late(servers, Fault.ASYNC)) {
            place.write(writer, "file", bytes);
            first.kill();
            first.restart();
            IOException read = assertThrows(IOException.class, () -> place.read(late, "file"));
            assertTrue(read.getMessage().matches("file: chunk \\d+ \\(bytes \\d+ to \\d+\\) is lost: .*"), read.getMessage());
            Flusher.Pass pass = new Flusher(late).pass();
            assertEquals(1, pass.left());
            assertTrue(pass.problems().get(0).matches("file lacks chunk \\d+ \\(bytes \\d+ to \\d+\\).*"), pass.problems().get(0));
            Files.delete(place.root.resolve("file"));
        }
        flushAll(Fault.ASYNC);
    }

    @Test
    void a_lost_server_costs_a_file_of_async_local_nothing_on_the_host_of_its_writer() throws Exception {
        byte[] bytes = Place.bytes(11, 20 * Place.CHUNK);
        try (Buffer writer = process(Fault.ASYNC_LOCAL)) {
            place.write(writer, "file", bytes);
        }
        first.kill();
        second.kill();
        first.restart();
        try (Buffer reader = process(Fault.ASYNC_LOCAL)) {
            assertArrayEquals(bytes, place.read(reader, "file"));
        }
        place.flushAll(servers, Fault.ASYNC_LOCAL);
        place.expectFile("file", bytes);
    }

    @Test
    void a_full_server_sends_the_writer_to_the_shared_directory() throws Exception {
        byte[] bytes = Place.bytes(13, 2 << 20);
        try (Memcached small = Memcached.start(folder, "-m", "16", "-o", "verbena_pinned=4")) {
            try (Buffer writer = place.process(small.address(), Fault.ASYNC, Steps.NONE)) {
                place.write(writer, "file", bytes);
                assertTrue(small.pinned() > 0);
                assertArrayEquals(bytes, place.read(writer, "file"));
            }
            place.flushAll(small.address(), Fault.ASYNC);
            assertEquals(0, small.pinned());
        }
        place.expectFile("file", bytes);
    }

    /** As a disk that is full, or a folder that belongs to another user: a file stands where the folder of copies should be. */
    @ParameterizedTest
    @EnumSource(value = Fault.class, names = {"ASYNC_LOCAL", "SYNC"})
    void bytes_of_which_this_host_takes_no_copy_go_to_the_shared_directory(Fault fault) throws Exception {
        byte[] bytes = Place.bytes(16, 40 * Place.CHUNK);
        int[] stored = {0};
        Files.createFile(place.local);
        try (Buffer writer = place.process(servers, fault, what -> {
            stored[0] += what.equals("chunk stored") ? 1 : 0;
            if (what.equals("piece written through")) {
                place.local.toFile().delete(); // there is room again
            }
        })) {
            place.write(writer, "file", bytes);
            assertArrayEquals(bytes, place.read(writer, "file"));
        }
        assertEquals(40 - 1 - BufferSink.THROUGH, stored[0]);
        flushAll(fault);
        place.expectFile("file", bytes);
    }

    @Test
    void a_server_without_pinned_items_is_refused() throws Exception {
        try (Memcached stock = Memcached.stock(folder); Buffer writer = place.process(stock.address(), Fault.ASYNC, Steps.NONE)) {
            IOException refused = assertThrows(IOException.class, () -> place.write(writer, "file", new byte[LENGTH]));
            assertTrue(refused.getMessage().contains("has no pinned items"), refused.getMessage());
            assertTrue(refused.getMessage().endsWith("use verbena-memcached"), refused.getMessage());
        }
    }

    @Test
    void two_writers_and_two_flushers_do_not_meet() throws Exception {
        byte[][] bytes = {Place.bytes(14, 40 * Place.CHUNK), Place.bytes(15, 40 * Place.CHUNK)};
        try (Buffer one = process(Fault.ASYNC); Buffer other = process(Fault.ASYNC)) {
            Thread[] threads = new Thread[2];
            java.util.Queue<Throwable> failures = new java.util.concurrent.ConcurrentLinkedQueue<>();
            for (int i = 0; i < 2; i++) {
                Buffer process = i == 0 ? one : other;
                String name = "file" + i;
                byte[] mine = bytes[i];
                threads[i] = new Thread(() -> {
                    try {
                        for (int round = 0; round < 5; round++) {
                            Files.deleteIfExists(place.root.resolve(name));
                            place.write(process, name, mine);
                            new Flusher(process).pass();
                            assertArrayEquals(mine, place.read(process, name));
                        }
                    } catch (Throwable e) {
                        failures.add(e);
                    }
                });
                threads[i].start();
            }
            for (Thread thread : threads) {
                thread.join();
            }
            assertEquals(0, failures.size(), failures::toString);
        }
        flushAll(Fault.ASYNC);
        place.expectFile("file0", bytes[0]);
        place.expectFile("file1", bytes[1]);
    }

    @Test
    void a_file_is_whole_before_it_is_cut_or_goes_on() throws Exception {
        try (Buffer writer = process(Fault.ASYNC); Buffer other = process(Fault.ASYNC)) {
            Sink sink = place.create(writer, "file");
            sink.write(ByteBuffer.wrap(Place.bytes(16, LENGTH)));
            sink.flush();
            IOException busy = assertThrows(IOException.class, () -> other.settle(place.root.resolve("file")));
            assertTrue(busy.getMessage().startsWith("file is being written"), busy.getMessage());
            sink.close();
            other.settle(place.root.resolve("file"));
            place.expectFile("file", Place.bytes(16, LENGTH));
        }
    }

    @Test
    void a_writer_that_was_silent_for_too_long_is_told() throws Exception {
        try (Buffer writer = process(Fault.ASYNC)) {
            Sink sink = place.create(writer, "file");
            sink.write(ByteBuffer.wrap(Place.bytes(17, LENGTH)));
            sink.flush();
            flushAll(Fault.ASYNC); // whose lease is over at once
            IOException late = assertThrows(IOException.class, () -> {
                sink.write(ByteBuffer.wrap(Place.bytes(17, LENGTH)));
                sink.flush();
            });
            assertTrue(late.getMessage().contains("verbena.lustre.buffer.lease.s"), late.getMessage());
            sink.abandon();
        }
    }

    @Test
    void a_failure_of_a_kind_that_nobody_has_thought_of_keeps_a_file_from_no_flusher() throws Exception {
        byte[] bytes = Place.bytes(19, LENGTH);
        for (String name : new String[] {"file", "other"}) {
            boolean[] failed = {false};
            try (Buffer writer = process(Fault.ASYNC); Buffer flusher = place.process(servers, Fault.ASYNC, what -> {
                if (what.equals("chunk written") && !failed[0]) {
                    failed[0] = true;
                    throw new IllegalStateException("of the test");
                }
            })) {
                place.write(writer, name, bytes);
                if (name.equals("file")) {
                    Flusher.Pass pass = new Flusher(flusher).pass();
                    assertEquals(1, pass.left());
                    assertTrue(pass.problems().get(0).matches("the file of inode \\d+ cannot be flushed: .*of the test"),
                        pass.problems().get(0));
                } else {
                    assertThrows(IllegalStateException.class, () -> flusher.settle(place.root.resolve(name)));
                }
                writer.settle(place.root.resolve(name)); // the process that failed lives, and has no claim
            }
            place.expectFile(name, bytes);
        }
        flushAll(Fault.ASYNC);
    }

    @Test
    void a_mark_that_the_file_system_has_damaged_is_named_and_other_files_are_flushed() throws Exception {
        byte[] bytes = Place.bytes(20, LENGTH);
        try (Buffer writer = process(Fault.ASYNC)) {
            place.write(writer, "bad", bytes);
            place.write(writer, "good", bytes);
            Files.writeString(new Records(place.root).done(Records.inodeOf(place.root.resolve("bad"))), "x\n");
            Flusher.Pass pass = new Flusher(writer).pass();
            assertEquals(1, pass.left());
            assertTrue(pass.problems().get(0).contains(".done has not the bytes that the burst buffer wrote"),
                pass.problems().get(0));
        }
        place.expectFile("good", bytes);
    }

    @Test
    void a_writer_whose_clock_is_wrong_lives_as_long_as_it_gives_signs_and_no_longer() throws Exception {
        byte[] bytes = Place.bytes(21, LENGTH);
        long[] now = {0};
        try (Buffer writer = process(Fault.ASYNC); Buffer flusher = place.timed(servers, Fault.ASYNC, () -> now[0])) {
            Sink sink = place.create(writer, "file");
            sink.write(ByteBuffer.wrap(bytes));
            sink.flush();
            Path open = flusher.records.open(Records.inodeOf(place.root.resolve("file")));
            for (int signs = 0; signs < 10; signs++) { // for longer than two leases, by a clock that was never right
                Files.setLastModifiedTime(open, FileTime.fromMillis(signs));
                now[0] += Place.LEASE_MS / 4 * 1_000_000;
                assertEquals(1, new Flusher(flusher).pass().left());
            }
            Files.setLastModifiedTime(open, FileTime.fromMillis(System.currentTimeMillis() + 1_000_000_000));
            for (int looks = 0; looks < 5; looks++) {
                assertTrue(Files.exists(open), "look " + looks);
                now[0] += Place.LEASE_MS / 4 * 1_000_000;
                new Flusher(flusher).pass();
            }
            assertFalse(Files.exists(open));
            sink.abandon();
        }
        flushAll(Fault.ASYNC);
        place.expectFile("file", bytes);
    }

    @Test
    void a_file_whose_writer_has_ended_on_this_host_is_flushed_at_once_and_one_that_waits_is_named() throws Exception {
        byte[] bytes = Place.bytes(22, LENGTH);
        try (Buffer writer = process(Fault.ASYNC); Buffer process = process(Fault.ASYNC)) {
            Flusher flusher = new Flusher(process);
            Sink sink = place.create(writer, "file");
            sink.write(ByteBuffer.wrap(bytes));
            sink.flush();
            assertEquals(new Flusher.Pass(1, List.of(), List.of()), flusher.pass());
            assertEquals(List.of("file waits for its writer to close it; a writer of another host that gives no sign for 600 s "
                + "(verbena.lustre.buffer.lease.s) counts as dead"), flusher.awaited());
            Path open = process.records.open(Records.inodeOf(place.root.resolve("file")));
            String record = Files.readString(open);
            Files.writeString(open, record.replace(Owner.here(), OwnerTest.ended()));
            assertEquals(new Flusher.Pass(0, List.of(), List.of()), flusher.pass());
            assertEquals(List.of(), flusher.awaited());
            IOException told = assertThrows(IOException.class, sink::flush);
            assertTrue(told.getMessage().contains("gave no sign"), told.getMessage());
            sink.abandon();
        }
        place.expectFile("file", bytes);
    }

    @Test
    void bytes_that_the_shared_directory_has_lost_after_their_flush_are_told_by_number() throws Exception {
        try (Buffer writer = process(Fault.ASYNC); Buffer flusher = place.process(servers, Fault.ASYNC, what -> {
            if (what.equals("items deleted")) {
                place.cut("file", LENGTH - 1000); // a quota that nobody told of
            }
        })) {
            place.write(writer, "file", Place.bytes(26, LENGTH));
            Flusher.Pass pass = new Flusher(flusher).pass();
            assertEquals(new Flusher.Pass(1, List.of("file has " + (LENGTH - 1000) + " bytes on the shared directory, and " + LENGTH
                + " were written: the shared file system has lost some; look at its quotas and free space"), List.of()), pass);
            Files.delete(place.root.resolve("file"));
        }
        flushAll(Fault.ASYNC);
    }

    @Test
    void copies_of_this_host_stay_while_the_shared_folder_is_away_and_nobody_says_that_it_has_all() throws Exception {
        byte[] bytes = Place.bytes(25, LENGTH);
        Path away = folder.resolve("away");
        try (Buffer writer = process(Fault.ASYNC_LOCAL); Buffer flusher = process(Fault.ASYNC_LOCAL)) {
            place.write(writer, "file", bytes);
            Files.move(place.root, away);
            for (boolean mountPoint : new boolean[] {false, true}) {
                if (mountPoint) {
                    Files.createDirectory(place.root);
                }
                IOException told = assertThrows(IOException.class, () -> new Flusher(flusher).pass());
                assertEquals("the shared folder " + place.root + " is away: mount its file system again, or start this "
                    + "process again if it began before the mount; nothing is flushed until then", told.getMessage());
                assertThrows(IOException.class, () -> flusher.local.sweep(flusher.records));
            }
            Files.delete(place.root);
            Files.move(away, place.root);
        }
        for (Memcached server : new Memcached[] {first, second}) {
            server.kill();
            server.restart();
        }
        flushAll(Fault.ASYNC_LOCAL);
        place.expectFile("file", bytes);
    }
}
