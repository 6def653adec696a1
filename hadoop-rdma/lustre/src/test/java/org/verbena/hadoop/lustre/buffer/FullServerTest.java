// SPDX-License-Identifier: Apache-2.0
package org.verbena.hadoop.lustre.buffer;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** A server whose memory for dirty chunks ends beneath several writers. */
class FullServerTest {
    private static final int WRITERS = 8;
    private static final int LENGTH = 1 << 20;

    @TempDir
    Path folder;

    @Test
    void many_writers_at_once_of_a_server_that_becomes_full_lose_nothing() throws Exception {
        Place place = new Place(folder);
        ExecutorService threads = Executors.newFixedThreadPool(WRITERS);
        try (Memcached small = Memcached.start(folder, "-m", "16", "-o", "verbena_pinned=4")) {
            List<Future<?>> all = new ArrayList<>();
            for (int i = 0; i < WRITERS; i++) {
                int mine = i;
                all.add(threads.submit(() -> {
                    try (Buffer process = place.process(small.address(), Fault.ASYNC, Steps.NONE)) {
                        place.write(process, "file" + mine, Place.bytes(mine, LENGTH));
                        assertArrayEquals(Place.bytes(mine, LENGTH), place.read(process, "file" + mine));
                    }
                    return null;
                }));
            }
            for (Future<?> one : all) {
                one.get();
            }
            assertTrue(small.pinned() > 0 && small.pinned() < WRITERS * LENGTH / Place.CHUNK, small.pinned() + " are pinned");
            place.flushAll(small.address(), Fault.ASYNC);
            assertEquals(0, small.pinned());
        } finally {
            threads.shutdown();
        }
        for (int i = 0; i < WRITERS; i++) {
            place.expectFile("file" + i, Place.bytes(i, LENGTH));
        }
    }
}
