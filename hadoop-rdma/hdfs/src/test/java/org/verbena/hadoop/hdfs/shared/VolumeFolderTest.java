// SPDX-License-Identifier: Apache-2.0
// Who owns a volume of the shared path.
package org.verbena.hadoop.hdfs.shared;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class VolumeFolderTest {
    private static final int CLAIMERS = 8;
    private static final int ROUNDS = 20;

    @TempDir
    Path place;
    private VolumeFolder first;

    @BeforeEach
    void create() throws Exception {
        first = VolumeFolder.create(place, Owner.here("first"));
    }

    private VolumeFolder seen() throws Exception {
        List<VolumeFolder> all = VolumeFolder.all(place);
        assertEquals(1, all.size());
        return all.get(0);
    }

    private List<String> names(String kind) throws Exception {
        try (var names = Files.list(place.resolve(first.name()))) {
            return names.map(name -> name.getFileName().toString()).filter(name -> name.startsWith(kind)).toList();
        }
    }

    @Test
    void a_new_volume_has_an_owner_and_is_for_its_user_alone() throws Exception {
        assertTrue(first.isHeld());
        assertEquals(1, seen().last());
        assertEquals("first", seen().owner(1).node());
        assertEquals("rwx------", PosixFilePermissions.toString(Files.getPosixFilePermissions(first.data())));
        assertEquals("rwx------", PosixFilePermissions.toString(Files.getPosixFilePermissions(first.data().getParent())));
    }

    @Test
    void the_next_owner_has_the_data_and_the_former_one_finds_no_path_of_its_own() throws Exception {
        Files.writeString(first.data().resolve("block"), "bytes");
        VolumeFolder second = seen();
        assertTrue(second.claim(Owner.here("second"), 1));
        assertEquals("bytes", Files.readString(second.data().resolve("block")));
        assertFalse(first.isHeld());
        assertThrows(NoSuchFileException.class, () -> Files.writeString(first.data().resolve("block"), "late",
            StandardOpenOption.CREATE));
        assertEquals(List.of("owner.2"), names("owner"));
        assertEquals(List.of("data.2"), names("data"));
    }

    /** As a library does that makes the folders above a file. */
    @Test
    void a_former_owner_that_makes_the_folder_anew_has_lost_it_and_the_next_owner_gets_the_data() throws Exception {
        assertFalse(first.isLost());
        Files.writeString(first.data().resolve("block"), "bytes");
        assertTrue(seen().claim(Owner.here("second"), 1));
        Files.createDirectories(first.data().resolve("current"));
        assertTrue(first.isLost());
        VolumeFolder third = seen();
        assertTrue(third.claim(Owner.here("third"), 2));
        assertEquals("bytes", Files.readString(third.data().resolve("block")));
    }

    @Test
    void of_many_processes_that_claim_a_volume_at_once_one_owns_it() throws Exception {
        ExecutorService threads = Executors.newFixedThreadPool(CLAIMERS);
        try {
            for (int round = 1; round <= ROUNDS; round++) {
                int after = round;
                List<VolumeFolder> claimers = new ArrayList<>();
                List<Callable<Boolean>> claims = new ArrayList<>();
                for (int i = 0; i < CLAIMERS; i++) {
                    VolumeFolder claimer = seen();
                    Owner owner = Owner.here("node" + i);
                    claimers.add(claimer);
                    claims.add(() -> claimer.claim(owner, after));
                }
                int won = 0;
                for (Future<Boolean> done : threads.invokeAll(claims)) {
                    won += done.get() ? 1 : 0;
                }
                assertEquals(1, won);
                assertEquals(1, claimers.stream().filter(VolumeFolder::isHeld).count());
                assertEquals(List.of("data." + (after + 1)), names("data"));
            }
        } finally {
            threads.shutdown();
        }
    }

    @Test
    void a_claim_after_an_owner_who_is_not_the_last_one_fails_and_changes_nothing() throws Exception {
        VolumeFolder second = seen();
        VolumeFolder slow = seen();
        assertTrue(second.claim(Owner.here("second"), 1));
        VolumeFolder third = seen();
        assertTrue(third.claim(Owner.here("third"), 2)); // owner.2 is removed: its name is free again
        assertFalse(slow.claim(Owner.here("slow"), 1));
        assertTrue(third.isHeld());
        assertFalse(slow.isHeld());
        assertEquals("third", seen().owner(seen().last()).node());
    }

    @Test
    void an_owner_that_died_before_it_took_the_data_is_followed_by_one_that_takes_it() throws Exception {
        Files.writeString(first.data().resolve("block"), "bytes");
        Files.writeString(place.resolve(first.name()).resolve("owner.2"), ""); // not even its record is whole
        VolumeFolder third = seen();
        assertEquals("", third.owner(2).node());
        assertTrue(third.claim(Owner.here("third"), 2));
        assertEquals("bytes", Files.readString(third.data().resolve("block")));
    }

    @Test
    void each_beat_is_seen_and_leaving_is_known_from_silence() throws Exception {
        long before = seen().pulse(1);
        first.beat();
        assertNotEquals(before, seen().pulse(1));
        first.leave();
        assertEquals(0, seen().pulse(1));
        first.beat();
        assertEquals(0, seen().pulse(1), "who has left shows no life");
    }

    @Test
    void a_process_has_ended_when_its_id_belongs_to_no_process_or_to_another_one() throws Exception {
        Owner here = Owner.here("node");
        assertEquals(here, Owner.of(here.text()));
        assertFalse(here.hasEnded());
        assertTrue(new Owner("node", here.host(), here.machine(), here.pid(), "1", "").hasEnded());
        assertFalse(new Owner("node", here.host(), "another boot", here.pid(), "1", "").hasEnded(), "another host's: nobody knows");
    }
}
