// SPDX-License-Identifier: Apache-2.0
package org.verbena.hadoop.lustre.buffer;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.FileTime;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Who flushes a file. */
class ClaimTest {
    private static final long LEASE_MS = 600_000;

    @TempDir
    Path folder;
    private Path file;
    private long now;
    private Silence silence;

    @BeforeEach
    void name() {
        file = folder.resolve("1.claim");
        silence = new Silence(LEASE_MS, () -> now);
    }

    private List<Path> all() throws IOException {
        try (Stream<Path> files = Files.list(folder)) {
            return files.toList();
        }
    }

    @Test
    void one_process_has_it_until_it_is_given_back() throws Exception {
        Claim claim = Claim.take(file, silence);
        assertTrue(claim.keep());
        assertNull(Claim.take(file, silence));
        assertEquals(List.of(file), all());
        claim.close();
        assertEquals(List.of(), all());
        assertNotNull(Claim.take(file, silence));
    }

    private void of(String owner) throws IOException {
        Files.writeString(file, "id " + owner);
    }

    @Test
    void it_is_taken_from_a_process_of_this_host_that_has_ended() throws Exception {
        of(OwnerTest.ended());
        assertNotNull(Claim.take(file, silence));
        of(Owner.here() + "0"); // another process had this id
        assertNotNull(Claim.take(file, silence));
        assertEquals(List.of(file), all());
    }

    @Test
    void a_container_with_the_name_of_its_host_keeps_what_it_has() throws Exception {
        String host = Files.readString(Path.of("/proc/sys/kernel/hostname")).strip();
        of(host + " " + OwnerTest.ended().split("/")[3] + " 1"); // an id that only the container has
        assertNull(Claim.take(file, silence));
        of(OwnerTest.ended().replace("pid:[", "pid:[1"));
        assertNull(Claim.take(file, silence));
    }

    @Test
    void it_is_taken_from_a_process_of_another_host_after_the_lease() throws Exception {
        of("elsewhere");
        Files.setLastModifiedTime(file, FileTime.fromMillis(0)); // its clock is far behind
        assertNull(Claim.take(file, silence));
        for (int looks = 1; looks < 4; looks++) {
            now += LEASE_MS / 4 * 1_000_000;
            assertNull(Claim.take(file, silence));
        }
        now += LEASE_MS / 4 * 1_000_000;
        Claim claim = Claim.take(file, silence);
        assertNotNull(claim);
        of("elsewhere"); // whose process comes back and takes it
        assertFalse(claim.keep());
        claim.close();
        assertEquals(List.of(file), all());
    }
}
