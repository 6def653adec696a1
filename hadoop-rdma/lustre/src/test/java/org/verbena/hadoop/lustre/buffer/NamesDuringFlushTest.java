// SPDX-License-Identifier: Apache-2.0
package org.verbena.hadoop.lustre.buffer;

import static org.junit.jupiter.api.Assertions.assertFalse;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.Comparator;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Folders above a file that change while it is flushed, at each step of the flush. */
class NamesDuringFlushTest {
    private static final int LENGTH = 5 * Place.CHUNK + 1000;
    private static final int STEPS = 15; // that a flush of so many bytes has at least
    private static final String FILE = "a/b/01";

    @TempDir
    Path folder;
    private Place place;
    private Memcached server;

    @BeforeEach
    void open() throws IOException {
        place = new Place(folder);
        server = Memcached.start(folder, "-m", "64");
    }

    @AfterEach
    void close() {
        if (server != null) {
            server.close();
        }
    }

    private void delete(String name) throws IOException {
        try (Stream<Path> all = Files.walk(place.root.resolve(name))) {
            List<Path> last = all.sorted(Comparator.reverseOrder()).toList();
            for (Path path : last) {
                Files.delete(path);
            }
        }
    }

    /** What another client does to names. */
    private interface Change {
        void make() throws IOException;
    }

    private void during(int step, byte[] bytes, Change change) throws IOException {
        Files.createDirectories(place.root.resolve(FILE).getParent());
        try (Buffer writer = place.process(server.address(), Fault.ASYNC, Steps.NONE)) {
            place.write(writer, FILE, bytes);
        }
        int[] seen = {0};
        Steps steps = what -> {
            if (++seen[0] == step) {
                try {
                    change.make();
                } catch (IOException e) {
                    throw new java.io.UncheckedIOException(e);
                }
            }
        };
        try (Buffer flusher = place.process(server.address(), Fault.ASYNC, steps)) {
            new Flusher(flusher).pass();
        }
    }

    @Test
    void a_folder_that_is_deleted_during_the_flush_of_its_files_does_not_come_back() throws Exception {
        for (int step = 1; step <= STEPS; step++) {
            during(step, Place.bytes(step, LENGTH), () -> delete("a"));
            place.flushAll(server.address(), Fault.ASYNC);
            assertFalse(Files.exists(place.root.resolve("a")), "step " + step);
        }
    }

    @Test
    void a_folder_that_is_renamed_during_the_flush_of_its_files_leaves_nothing_at_the_old_name() throws Exception {
        for (int step = 1; step <= STEPS; step++) {
            byte[] bytes = Place.bytes(step, LENGTH);
            during(step, bytes,
                () -> Files.move(place.root.resolve("a"), place.root.resolve("c"), StandardCopyOption.ATOMIC_MOVE));
            place.flushAll(server.address(), Fault.ASYNC);
            assertFalse(Files.exists(place.root.resolve("a")), "step " + step);
            place.expectFile("c/b/01", bytes);
            delete("c");
            place.flushAll(server.address(), Fault.ASYNC);
            assertFalse(Files.exists(place.root.resolve("c")), "step " + step);
        }
    }
}
