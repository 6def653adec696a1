// SPDX-License-Identifier: Apache-2.0
package org.verbena.hadoop.lustre.buffer;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.OptionalLong;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** A flusher in folders that have what it does not expect. No server is needed: nothing is left in the buffer. */
class ListingTest {
    private static final String NOWHERE = "127.0.0.1:1";
    private static final String LARGE = "9".repeat(25);

    @TempDir
    Path folder;
    private Place place;
    private Path records;

    @BeforeEach
    void open() throws IOException {
        place = new Place(folder);
        records = Files.createDirectory(place.root.resolve(Records.FOLDER));
    }

    /** A name of a file whose record has gone: the shared directory has all of it. */
    private Path whole() throws IOException {
        Path file = Files.writeString(place.root.resolve("file"), "text");
        return Files.createLink(records.resolve(Records.inodeOf(file) + ".data"), file);
    }

    private Flusher.Pass pass() throws IOException {
        try (Buffer flusher = place.late(NOWHERE, Fault.ASYNC_LOCAL)) {
            return new Flusher(flusher).pass();
        }
    }

    @Test
    void numbers_that_are_no_inodes_stop_nobody() throws IOException {
        Path data = whole();
        Files.writeString(records.resolve(LARGE + ".data"), "");
        Files.createDirectories(place.local);
        Files.writeString(place.local.resolve(LARGE + "-id"), "");
        assertEquals(new Flusher.Pass(0, List.of(), List.of()), pass());
        assertFalse(Files.exists(data));
        assertTrue(Files.exists(place.local.resolve(LARGE + "-id")), "it is nobody's copy");
    }

    /** The kernel's number has 64 bits: up to 19 digits, and those from 2^63 on are negative in Java. */
    @ParameterizedTest
    @ValueSource(strings = {"0", "1234567890123456789", "9223372036854775807", "-1", "-9223372036854775808"})
    void every_inode_of_64_bits_is_seen(String inode) throws IOException {
        Path data = whole();
        Path other = Files.move(data, data.resolveSibling(inode + ".data"));
        Path copy = Files.writeString(Files.createDirectories(place.local).resolve(inode + "-id"), "");
        assertEquals(new Flusher.Pass(0, List.of(), List.of()), pass());
        assertFalse(Files.exists(other), "its record has gone");
        assertFalse(Files.exists(copy), "no record has this copy");
        assertEquals(OptionalLong.of(Long.parseLong(inode)), Listing.inode(inode));
    }

    @ParameterizedTest
    @ValueSource(strings = {"9223372036854775808", "-9223372036854775809", "10000000000000000000", "", "-", "--1", "+1", "id"})
    void no_other_name_is_an_inode(String name) throws IOException {
        Path data = Files.writeString(records.resolve(name + ".data"), "");
        Path copy = Files.writeString(Files.createDirectories(place.local).resolve(name + "-id"), "");
        assertEquals(new Flusher.Pass(0, List.of(), List.of()), pass());
        assertTrue(Files.exists(data) && Files.exists(copy));
        assertEquals(OptionalLong.empty(), Listing.inode(name));
    }

    @Test
    void an_old_claim_that_cannot_be_removed_stops_nobody() throws IOException {
        Path data = whole();
        Files.createDirectories(records.resolve("7.claim.1/held")); // as one of another user in a sticky folder
        Flusher.Pass pass = pass();
        assertEquals(List.of(), pass.problems());
        assertFalse(Files.exists(data));
    }

    @Test
    void a_local_folder_that_cannot_be_listed_is_told_and_files_are_flushed() throws IOException {
        Path data = whole();
        Files.writeString(place.local, "no folder");
        Flusher.Pass pass = pass();
        assertEquals(0, pass.left());
        assertEquals(List.of(), pass.problems());
        assertEquals(1, pass.notes().size(), pass::toString);
        assertTrue(pass.notes().get(0).startsWith("copies of this host stay in " + place.local + ", which cannot be listed ("),
            pass::toString);
        assertFalse(Files.exists(data));
        assertFalse(Files.exists(records));
    }

    @Test
    void a_copy_that_cannot_be_deleted_is_told_and_the_next_ones_go() throws IOException {
        Path held = Files.createDirectories(place.local.resolve("1-id/held")).getParent();
        Path other = Files.writeString(place.local.resolve("2-id"), "");
        Flusher.Pass pass = pass();
        assertEquals(0, pass.left());
        assertEquals(1, pass.notes().size(), pass::toString);
        assertTrue(pass.notes().get(0).contains(held + " cannot be deleted ("), pass::toString);
        assertFalse(Files.exists(other));
    }
}
