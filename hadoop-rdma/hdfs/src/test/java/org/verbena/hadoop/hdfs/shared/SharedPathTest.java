// SPDX-License-Identifier: Apache-2.0
// What stands in the way of a shared path, in words; Lustre's layout; Hadoop's lock.
package org.verbena.hadoop.hdfs.shared;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.FileOutputStream;
import java.io.IOException;
import java.nio.file.FileSystemException;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.List;
import org.apache.hadoop.hdfs.server.common.Storage.StorageDirectory;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class SharedPathTest {
    @TempDir
    Path place;

    @Test
    void a_folder_that_is_not_there_is_not_made_and_the_text_says_what_to_mount() {
        Path missing = place.resolve("mount/hdfs");
        String text = assertThrows(IOException.class, () -> SharedPath.of(missing.toString())).getMessage();
        assertTrue(text.startsWith("verbena.hdfs.shared.dir=" + missing + ": there is no such folder; mount its file"), text);
        assertFalse(Files.exists(place.resolve("mount")));
        assertTrue(assertThrows(IOException.class, () -> SharedPath.of("")).getMessage()
            .startsWith("verbena.hdfs.shared.dir is not set"));
    }

    /** The program of a process with a umask of its own. */
    static final class Maker {
        public static void main(String[] folders) throws IOException {
            SharedPath.ofCluster(Path.of(folders[0]), "CID-1");
        }
    }

    @Test
    void a_folder_has_mode_700_with_any_umask() throws Exception {
        for (String umask : List.of("000", "077", "777")) {
            Path shared = Files.createDirectory(place.resolve("umask" + umask));
            Process process = new ProcessBuilder("sh", "-c", "umask " + umask + "; exec \"$@\"", "sh",
                System.getProperty("java.home") + "/bin/java", "-Xshare:auto", "-XX:TieredStopAtLevel=1", "-cp",
                System.getProperty("java.class.path"), Maker.class.getName(), shared.toString()).inheritIO().start();
            assertEquals(0, process.waitFor());
            assertEquals("rwx------", PosixFilePermissions.toString(Files.getPosixFilePermissions(shared.resolve("CID-1"))), umask);
        }
    }

    @Test
    void each_fault_has_its_cure() {
        Path folder = Path.of("/lustre/hdfs");
        assertTrue(SharedPath.cure(new IOException("Disk quota exceeded"), folder).startsWith("raise the quota (lfs quota -u "));
        assertTrue(SharedPath.cure(new FileSystemException("x", null, "No space left on device"), folder)
            .startsWith("delete files, or lower verbena.hdfs.shared.size"));
        assertTrue(SharedPath.cure(new FileSystemException("x", null, "Permission denied"), folder).contains("belong to user"));
        assertTrue(SharedPath.cure(new FileSystemException("x", null, "Stale file handle"), folder).contains("still mounted"));
        assertTrue(SharedPath.cure(new IOException("Input/output error"), folder).contains("kernel's log"));
    }

    private Path command(String text) throws IOException {
        Path script = Files.createDirectories(place.resolve("bin")).resolve("lfs");
        Files.writeString(script, "#!/bin/sh\n" + text);
        Files.setPosixFilePermissions(script, PosixFilePermissions.fromString("rwx------"));
        return script.getParent();
    }

    @Test
    void lustres_command_sets_the_layout_of_the_folder_and_its_refusal_is_told() throws Exception {
        assertEquals("", LustreLayout.set("/nowhere", place, 2));
        Path bin = command("echo \"$@\" > " + place + "/words\n");
        assertEquals("Lustre stripes each block over 2 objects", LustreLayout.set("/nowhere:" + bin, place, 2));
        assertEquals("setstripe --stripe-count 2 " + place, Files.readString(place.resolve("words")).trim());
        command("echo 'error on ioctl: Inappropriate ioctl for device'\nexit 25\n");
        assertEquals(bin + "/lfs setstripe --stripe-count 1 " + place + " failed: error on ioctl: Inappropriate ioctl for device; "
            + "files keep the layout of their folder", LustreLayout.set(bin.toString(), place, 1));
    }

    @Test
    void hadoop_locks_a_file_of_the_hosts_own_disk_and_takes_the_volume_for_its_data_nodes() throws Exception {
        Path data = Files.createDirectories(place.resolve("shared/data.2"));
        Path lock = Files.createDirectories(place.resolve("local")).resolve("lock");
        Files.createDirectories(data.resolve("current"));
        Files.write(data.resolve("current/VERSION"), List.of("#date", "storageID=DS-1", "datanodeUuid=old", "cTime=0"));
        VolumeData.prepare(data, "new", lock);
        assertEquals(List.of("#date", "storageID=DS-1", "datanodeUuid=new", "cTime=0"),
            Files.readAllLines(data.resolve("current/VERSION")));
        StorageDirectory folder = new StorageDirectory(data.toFile());
        folder.lock();
        assertTrue(Files.isRegularFile(lock, LinkOption.NOFOLLOW_LINKS), "the lock is not on the shared path");
        folder.unlock();
        VolumeData.prepare(data, "next", place.resolve("local/other")); // of a DataNode of another host
    }

    @Test
    void a_file_that_the_former_owner_has_open_is_no_file_of_the_new_one() throws Exception {
        Path writing = Files.createDirectories(place.resolve("data.2/current/BP-1/current/rbw"));
        Path block = Files.writeString(writing.resolve("blk_1"), "flushed");
        Path local = Files.createDirectories(place.resolve("local"));
        try (FileOutputStream former = new FileOutputStream(block.toFile(), true)) {
            VolumeData.prepare(place.resolve("data.2"), "new", local.resolve("lock"));
            former.write("late".getBytes());
        }
        assertEquals("flushed", Files.readString(block));
    }
}
