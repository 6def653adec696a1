// SPDX-License-Identifier: Apache-2.0
package org.verbena.hadoop.lustre.buffer;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.FileTime;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** When the process of a file counts as dead. */
class SilenceTest {
    private static final long LEASE_MS = 1000;

    @TempDir
    Path folder;
    private Path file;
    private long now;
    private final Silence silence = new Silence(LEASE_MS, () -> now);

    @BeforeEach
    void make() throws IOException {
        file = Files.createFile(folder.resolve("1.open"));
    }

    private boolean isOverAfter(long milliseconds) throws IOException {
        now += TimeUnit.MILLISECONDS.toNanos(milliseconds);
        return silence.isOver(file);
    }

    @Test
    void the_clock_of_the_host_that_writes_the_file_does_not_count() throws Exception {
        for (long skew : new long[] {-3_600_000, 0, 3_600_000}) {
            Files.setLastModifiedTime(file, FileTime.fromMillis(System.currentTimeMillis() + skew));
            for (int looks = 0; looks < 4; looks++) {
                assertFalse(isOverAfter(LEASE_MS / 4), skew + " ms, look " + looks);
            }
            assertTrue(isOverAfter(LEASE_MS / 4), skew + " ms");
        }
    }

    @Test
    void each_sign_begins_the_time_anew() throws Exception {
        for (int signs = 0; signs < 20; signs++) {
            Files.setLastModifiedTime(file, FileTime.fromMillis(signs));
            assertFalse(isOverAfter(LEASE_MS / 2));
        }
        Files.writeString(file, "line");
        Files.setLastModifiedTime(file, FileTime.fromMillis(19));
        assertFalse(isOverAfter(LEASE_MS / 2), "its length has changed");
    }

    @Test
    void a_process_that_stood_still_for_longer_than_the_lease_takes_nobody_for_dead() throws Exception {
        assertFalse(isOverAfter(0));
        assertFalse(isOverAfter(100 * LEASE_MS));
        assertFalse(isOverAfter(100 * LEASE_MS));
    }

    @Test
    void files_that_are_gone_are_forgotten() throws Exception {
        List<Path> none = List.of();
        for (int looks = 0; looks < 100; looks++) {
            assertFalse(isOverAfter(LEASE_MS / 4));
            if (looks % 2 == 0) {
                silence.keep(none);
            } else {
                silence.forget(file);
            }
        }
        assertEquals(100 * LEASE_MS / 4, TimeUnit.NANOSECONDS.toMillis(now));
    }
}
