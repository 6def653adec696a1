// SPDX-License-Identifier: Apache-2.0
// What Hadoop's contract tests do not ask: links, modes, layouts, clients that meet.
package org.verbena.hadoop.lustre;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.verbena.hadoop.lustre.TestPlace.path;
import static org.verbena.hadoop.lustre.TestPlace.read;
import static org.verbena.hadoop.lustre.TestPlace.write;

import java.io.EOFException;
import java.io.FileNotFoundException;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.EnumSet;
import java.util.List;
import java.util.concurrent.CyclicBarrier;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.stream.Stream;
import org.apache.hadoop.fs.BlockLocation;
import org.apache.hadoop.fs.CreateFlag;
import org.apache.hadoop.fs.FSDataInputStream;
import org.apache.hadoop.fs.FSDataOutputStream;
import org.apache.hadoop.fs.FileContext;
import org.apache.hadoop.fs.FileStatus;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.Options;
import org.apache.hadoop.fs.Trash;
import org.apache.hadoop.fs.permission.FsPermission;
import org.apache.hadoop.security.AccessControlException;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

@Timeout(120)
class LustreFileSystemTest {
    private static final long MIB = 1 << 20;

    @TempDir
    Path folder;

    private TestPlace place;
    private FileSystem client;

    @BeforeEach
    void open() throws IOException {
        place = new TestPlace(folder);
        client = place.client();
    }

    private static int mode(Path file) throws IOException {
        return (Integer) Files.getAttribute(file, "unix:mode") & 07777;
    }

    @Test
    void a_file_is_that_of_the_folder_and_nothing_lies_beside_it() throws IOException {
        write(client, "/a/b", "text");
        assertEquals("text", Files.readString(place.root.resolve("a/b")));
        try (Stream<Path> all = Files.list(place.root.resolve("a"))) {
            assertEquals(1, all.count());
        }
        assertEquals("lustre:/a/b", client.listStatus(path("/a"))[0].getPath().toString());
        assertNull(client.getCanonicalServiceName());
        assertEquals(0, client.addDelegationTokens("yarn", null).length);
    }

    @Test
    void without_a_root_or_with_a_host_or_a_wrong_setting_the_cure_is_told() throws IOException {
        place.conf.set("fs.defaultFS", "lustre://host/");
        assertTrue(assertThrows(IOException.class, place::client).getMessage().contains("write lustre:///path"));
        place.conf.set("fs.defaultFS", "lustre:///");
        place.conf.set("verbena.lustre.root", folder.resolve("missing").toString());
        assertTrue(assertThrows(IOException.class, place::client).getMessage().contains("mount the shared file system"));
        place.conf.unset("verbena.lustre.root");
        assertTrue(assertThrows(IOException.class, place::client).getMessage().contains("set verbena.lustre.root"));
        place.conf.set("verbena.lustre.root", "relative");
        assertTrue(assertThrows(IOException.class, place::client).getMessage().contains("an absolute path"));
        place.conf.set("verbena.lustre.root", place.root.toString());
        place.conf.set("verbena.lustre.stripe.size", "100k");
        assertTrue(assertThrows(IOException.class, place::client).getMessage().contains("a multiple of 64k"));
        place.conf.set("verbena.lustre.stripe.size", "64k");
        place.conf.set("verbena.lustre.stripe.cuont", "1");
        IOException unknown = assertThrows(IOException.class, place::client);
        assertTrue(unknown.getMessage().contains("did you mean verbena.lustre.stripe.count?"), unknown.getMessage());
    }

    @Test
    void links_inside_are_followed_and_one_that_leads_out_is_refused_and_can_be_deleted() throws IOException {
        Files.writeString(folder.resolve("secret"), "outside");
        write(client, "/d/file", "inside");
        Files.createSymbolicLink(place.root.resolve("inner"), Path.of("d"));
        Files.createSymbolicLink(place.root.resolve("out"), Path.of("../secret"));
        Files.createSymbolicLink(place.root.resolve("up"), folder);
        assertEquals("inside", read(client, "/inner/file"));
        for (String name : List.of("/out", "/up/secret", "/up/new")) {
            IOException refused = assertThrows(AccessControlException.class, () -> read(client, name));
            assertTrue(refused.getMessage().contains("leads out of the file system"), refused.getMessage());
            assertThrows(AccessControlException.class, () -> client.create(path(name), true));
        }
        assertThrows(AccessControlException.class, () -> client.rename(path("/d/file"), path("/up/x")));
        assertThrows(AccessControlException.class, () -> client.delete(path("/up/secret"), false));
        List<Boolean> links = new ArrayList<>();
        for (FileStatus status : client.listStatus(path("/"))) {
            links.add(status.isSymlink());
        }
        assertEquals(List.of(false, false, true, true), links);
        assertTrue(client.delete(path("/up"), true));
        assertEquals("outside", Files.readString(folder.resolve("secret")));
        assertThrows(IOException.class, () -> client.open(new org.apache.hadoop.fs.Path("lustre:///../secret")));
    }

    @Test
    void a_link_is_relative_so_that_the_root_may_lie_elsewhere_on_another_host() throws IOException {
        write(client, "/d/file", "text");
        client.createSymlink(path("/d/file"), path("/e/link"), true);
        assertEquals("../d/file", Files.readSymbolicLink(place.root.resolve("e/link")).toString());
        assertEquals("text", read(client, "/e/link"));
        assertEquals("lustre:/d/file", client.getLinkTarget(path("/e/link")).toString());
        assertTrue(client.getFileLinkStatus(path("/e/link")).isSymlink());
        assertThrows(IOException.class, () -> client.createSymlink(path("../../x"), path("/e/bad"), false));
        Files.move(place.root, folder.resolve("moved"));
        place.conf.set("verbena.lustre.root", folder.resolve("moved").toString());
        assertEquals("text", read(place.client(), "/e/link"));
    }

    @Test
    void modes_are_hadoops_whatever_the_umask_and_a_folder_keeps_the_group_of_the_one_above() throws IOException {
        place.conf.set("fs.permissions.umask-mode", "007");
        FileSystem group = place.client();
        Files.setAttribute(Files.createDirectory(place.root.resolve("shared")), "unix:mode", 02770);
        write(group, "/shared/x/y/file", "text");
        assertEquals(0660, mode(place.root.resolve("shared/x/y/file")));
        assertEquals(02770, mode(place.root.resolve("shared/x/y")));
        group.mkdirs(path("/shared/staging"), new FsPermission((short) 0700));
        assertEquals(02700, mode(place.root.resolve("shared/staging")));
        group.setPermission(path("/shared/staging"), new FsPermission((short) 01777));
        assertEquals(03777, mode(place.root.resolve("shared/staging")));
        assertEquals("rwxrwxrwt", group.getFileStatus(path("/shared/staging")).getPermission().toString());
        FileContext.getFileContext(place.conf).mkdir(path("/shared/p/q"), new FsPermission((short) 0400), true);
        assertEquals(02400, mode(place.root.resolve("shared/p/q")));
    }

    @Test
    void owners_are_those_of_this_host_and_a_name_that_it_does_not_know_is_told() throws IOException {
        write(client, "/x", "text");
        FileStatus before = client.getFileStatus(path("/x"));
        client.setOwner(path("/x"), before.getOwner(), before.getGroup());
        assertEquals(before.getOwner(), client.getFileStatus(path("/x")).getOwner());
        IOException unknown = assertThrows(IOException.class, () -> client.setOwner(path("/x"), "no-such-user", null));
        assertTrue(unknown.getMessage().contains("this host knows no user or group no-such-user"), unknown.getMessage());
    }

    @Test
    void of_many_that_take_one_name_one_succeeds_and_no_file_is_lost() throws Exception {
        int clients = 4;
        ExecutorService pool = Executors.newFixedThreadPool(clients);
        for (int round = 0; round < 50; round++) {
            CyclicBarrier together = new CyclicBarrier(clients);
            List<Future<Boolean>> answers = new ArrayList<>();
            for (int i = 0; i < clients; i++) {
                String source = "/r" + round + "/from" + i;
                String target = "/r" + round + "/to";
                write(client, source, "bytes of " + i);
                answers.add(pool.submit(() -> {
                    together.await();
                    return client.rename(path(source), path(target));
                }));
            }
            int successes = 0;
            for (Future<Boolean> answer : answers) {
                successes += answer.get() ? 1 : 0;
            }
            assertEquals(1, successes);
            assertEquals(clients, client.listStatus(path("/r" + round)).length);
        }
        pool.shutdown();
    }

    @Test
    void a_rename_that_a_crash_left_half_done_is_finished_by_the_next_one() throws IOException {
        write(client, "/from", "text");
        Files.createLink(place.root.resolve("to"), place.root.resolve("from"));
        assertTrue(client.rename(path("/from"), path("/to")));
        assertFalse(client.exists(path("/from")));
        assertEquals("text", read(client, "/to"));
    }

    @Test
    void a_file_that_is_renamed_over_another_one_takes_its_place_when_that_is_asked_for() throws IOException {
        FileContext context = FileContext.getFileContext(place.conf);
        write(client, "/a", "new");
        write(client, "/b", "old");
        assertThrows(org.apache.hadoop.fs.FileAlreadyExistsException.class, () -> context.rename(path("/a"), path("/b")));
        try (FSDataInputStream old = client.open(path("/b"))) {
            context.rename(path("/a"), path("/b"), Options.Rename.OVERWRITE);
            assertEquals("old", new String(old.readAllBytes(), UTF_8));
        }
        assertEquals("new", read(client, "/b"));
        client.mkdirs(path("/full/x"));
        client.mkdirs(path("/empty"));
        client.mkdirs(path("/src/y"));
        assertThrows(IOException.class, () -> context.rename(path("/src"), path("/full"), Options.Rename.OVERWRITE));
        assertThrows(IOException.class, () -> context.rename(path("/b"), path("/empty"), Options.Rename.OVERWRITE));
        context.rename(path("/src"), path("/empty"), Options.Rename.OVERWRITE);
        assertTrue(client.exists(path("/empty/y")));
    }

    /** As YARN writes logs of containers. */
    @Test
    void a_file_context_makes_replaces_and_extends_files_with_the_modes_that_it_wants() throws IOException {
        FileContext context = FileContext.getFileContext(place.conf);
        Options.CreateOpts mode = Options.CreateOpts.perms(new FsPermission((short) 0640));
        Options.CreateOpts parents = Options.CreateOpts.createParent();
        try (FSDataOutputStream out = context.create(path("/logs/app/host"), EnumSet.of(CreateFlag.CREATE), mode, parents)) {
            out.write("one".getBytes(UTF_8));
        }
        assertEquals(0640, mode(place.root.resolve("logs/app/host")));
        assertThrows(org.apache.hadoop.fs.FileAlreadyExistsException.class,
            () -> context.create(path("/logs/app/host"), EnumSet.of(CreateFlag.CREATE), mode, parents));
        assertThrows(FileNotFoundException.class, () -> context.create(path("/missing/host"), EnumSet.of(CreateFlag.CREATE), mode));
        try (FSDataOutputStream out = context.create(path("/logs/app/host"), EnumSet.of(CreateFlag.APPEND), mode)) {
            out.write(" two".getBytes(UTF_8));
        }
        assertEquals("one two", read(client, "/logs/app/host"));
        EnumSet<CreateFlag> replace = EnumSet.of(CreateFlag.CREATE, CreateFlag.OVERWRITE);
        context.create(path("/logs/app/host"), replace, mode).close();
        assertEquals("", read(client, "/logs/app/host"));
        assertEquals(1, context.util().listStatus(path("/logs/app")).length);
    }

    @Test
    void who_reads_a_file_that_is_overwritten_reads_the_old_one_to_its_end() throws IOException {
        write(client, "/x", "old bytes");
        try (FSDataInputStream reader = place.client().open(path("/x"))) {
            write(client, "/x", "new");
            assertEquals("old bytes", new String(reader.readAllBytes(), UTF_8));
        }
        assertEquals("new", read(client, "/x"));
    }

    /** Trap of file systems that delete later: the old name's delete hits the new file. */
    @Test
    void a_name_that_is_deleted_and_made_again_by_two_clients_has_the_last_bytes() throws IOException {
        FileSystem other = place.client();
        for (int i = 0; i < 10; i++) {
            FileSystem writer = i % 2 == 0 ? client : other;
            FileSystem reader = i % 2 == 0 ? other : client;
            reader.delete(path("/x"), false);
            write(writer, "/x", "bytes " + i);
            assertEquals("bytes " + i, read(reader, "/x"));
        }
    }

    /** Traps of file systems that write later: a deleted or renamed file comes back. */
    @Test
    void a_file_that_is_deleted_or_whose_folder_is_renamed_while_it_is_written_does_not_come_back() throws IOException {
        FileSystem other = place.client();
        FSDataOutputStream deleted = client.create(path("/a/gone"));
        FSDataOutputStream moved = client.create(path("/a/b/01"));
        deleted.write(new byte[(int) MIB]);
        moved.write("first".getBytes(UTF_8));
        other.delete(path("/a/gone"), false);
        assertTrue(other.rename(path("/a"), path("/c")));
        deleted.close();
        moved.write(" last".getBytes(UTF_8));
        moved.close();
        assertFalse(other.exists(path("/a")));
        assertFalse(other.exists(path("/c/gone")));
        assertEquals("first last", read(other, "/c/b/01"));
    }

    @Test
    void flushed_bytes_are_seen_by_another_client_before_the_file_is_closed() throws IOException {
        try (FSDataOutputStream out = client.create(path("/x"))) {
            out.write("one".getBytes(UTF_8));
            out.hflush();
            assertEquals("one", read(place.client(), "/x"));
            out.write(" two".getBytes(UTF_8));
            out.hsync();
            assertEquals("one two", read(place.client(), "/x"));
            assertEquals(7, place.client().getFileStatus(path("/x")).getLen());
        }
    }

    @Test
    void a_file_that_has_become_shorter_when_it_is_closed_is_an_error() throws IOException {
        FSDataOutputStream out = client.create(path("/x"));
        out.write(new byte[1000]);
        out.hflush();
        client.truncate(path("/x"), 400);
        IOException lost = assertThrows(IOException.class, out::close);
        assertTrue(lost.getMessage().contains("has 400 bytes after its close, and 1000 were written"), lost.getMessage());
    }

    @Test
    void seeks_small_and_large_reads_and_positional_ones_give_the_same_bytes() throws IOException {
        byte[] bytes = new byte[(int) MIB + 77];
        new java.util.Random(7).nextBytes(bytes);
        try (FSDataOutputStream out = client.create(path("/x"))) {
            out.write(bytes, 0, 5);
            out.write(bytes[5]);
            out.write(bytes, 6, bytes.length - 6);
        }
        try (FSDataInputStream in = client.open(path("/x"))) {
            java.util.Random random = new java.util.Random(8);
            for (int i = 0; i < 300; i++) {
                int from = random.nextInt(bytes.length);
                byte[] part = new byte[Math.min(bytes.length - from, i % 3 == 0 ? 600_000 : 300)];
                byte[] wanted = java.util.Arrays.copyOfRange(bytes, from, from + part.length);
                in.seek(from);
                in.readFully(part);
                assertArrayEquals(wanted, part);
                in.readFully(from, part);
                assertArrayEquals(wanted, part);
                assertEquals(from + part.length, in.getPos());
            }
        }
    }

    @Test
    void a_reader_sees_what_was_appended_since_it_opened_the_file_and_no_more() throws IOException {
        write(client, "/x", "one");
        try (FSDataInputStream in = client.open(path("/x"))) {
            in.seek(3);
            assertEquals(0, in.available());
            assertThrows(EOFException.class, () -> in.seek(4));
            try (FSDataOutputStream out = place.client().append(path("/x"))) {
                out.write(" two".getBytes(UTF_8));
            }
            in.seek(4);
            assertEquals(3, in.available());
            assertEquals("two", new String(in.readAllBytes(), UTF_8));
            assertThrows(EOFException.class, () -> in.seek(-1));
        }
    }

    @Test
    void joined_files_are_one_and_nothing_is_left_of_a_join_that_fails() throws IOException {
        write(client, "/a", "one ");
        write(client, "/b", "two ");
        write(client, "/c", "three");
        client.setPermission(path("/a"), new FsPermission((short) 0640));
        assertThrows(FileNotFoundException.class,
            () -> client.concat(path("/a"), new org.apache.hadoop.fs.Path[] {path("/b"), path("/missing")}));
        assertEquals("one ", read(client, "/a"));
        client.concat(path("/a"), new org.apache.hadoop.fs.Path[] {path("/b"), path("/c")});
        assertEquals("one two three", read(client, "/a"));
        assertEquals(0640, mode(place.root.resolve("a")));
        assertEquals(1, client.listStatus(path("/")).length);
    }

    @Test
    void without_lfs_a_file_is_one_location() throws IOException {
        write(client, "/x", "text");
        BlockLocation[] found = client.getFileBlockLocations(path("/x"), 1, 2);
        assertEquals(1, found.length);
        assertEquals(4, found[0].getLength());
        assertArrayEquals(new String[] {"localhost"}, found[0].getHosts());
        assertEquals(0, client.getFileBlockLocations(path("/x"), 4, 2).length);
    }

    @Test
    void lfs_tells_the_storage_targets_of_blocks_and_makes_files_with_the_wanted_stripes() throws IOException {
        Path words = folder.resolve("words");
        place.conf.set("verbena.lustre.lfs", TestPlace.script(folder, "echo \"$@\" >> " + words + "\n"
            + "[ \"$1\" != setstripe ] || : > \"$6\"\n"
            + "printf 'lmm_stripe_size: 65536\\n 3 1 0x1 0\\n 10 1 0x1 0\\n'\n"));
        place.conf.set("verbena.lustre.block.size", "1m");
        place.conf.set("verbena.lustre.stripe.size", "128k");
        place.conf.set("verbena.lustre.stripe.count", "2");
        FileSystem striped = place.client();
        try (FSDataOutputStream out = striped.create(path("/x"))) {
            out.write(new byte[(int) MIB + 10]);
        }
        BlockLocation[] found = striped.getFileBlockLocations(path("/x"), 0, 2 * MIB);
        assertEquals(2, found.length);
        assertArrayEquals(new String[] {"OST0003", "OST000a"}, found[0].getNames());
        assertArrayEquals(new String[] {"OST0003"}, found[1].getNames());
        assertEquals(10, found[1].getLength());
        assertEquals("setstripe -S 131072 -c 2 " + place.root.resolve("x") + "\ngetstripe " + place.root.resolve("x") + "\n",
            Files.readString(words));
        assertEquals(0644, mode(place.root.resolve("x")));
    }

    @Test
    void an_lfs_that_fails_is_an_error_of_a_new_file_and_none_of_a_location() throws IOException {
        write(client, "/x", "text");
        place.conf.set("verbena.lustre.lfs", TestPlace.script(folder, "echo 'no such pool' >&2; exit 3\n"));
        assertArrayEquals(new String[] {"localhost"}, place.client().getFileBlockLocations(path("/x"), 0, 4)[0].getNames());
        place.conf.set("verbena.lustre.stripe.count", "2");
        IOException failed = assertThrows(IOException.class, () -> place.client().create(path("/y")));
        assertTrue(failed.getMessage().contains("no such pool"), failed.getMessage());
        place.conf.set("verbena.lustre.lfs", folder.resolve("missing").toString());
        assertThrows(IOException.class, place::client);
    }

    @Test
    void what_is_deleted_by_way_of_the_trash_lies_there() throws IOException {
        place.conf.set("fs.trash.interval", "60");
        write(client, "/d/x", "text");
        assertTrue(new Trash(client, place.conf).moveToTrash(path("/d/x")));
        assertFalse(client.exists(path("/d/x")));
        assertEquals("text", read(client, client.getTrashRoot(path("/d/x")).toUri().getPath() + "/Current/d/x"));
    }

    @Test
    void a_folder_with_links_is_deleted_and_what_they_lead_to_stays() throws IOException {
        write(client, "/keep/file", "text");
        client.mkdirs(path("/d/e"));
        Files.createSymbolicLink(place.root.resolve("d/e/link"), Path.of("../../keep"));
        assertThrows(IOException.class, () -> client.delete(path("/d"), false));
        assertTrue(client.delete(path("/d"), true));
        assertFalse(client.delete(path("/d"), true));
        assertEquals("text", read(client, "/keep/file"));
    }
}
