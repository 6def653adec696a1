// SPDX-License-Identifier: Apache-2.0
// Folders of the memory tier that were there before the DataNode.
package org.verbena.hadoop.hdfs.memory;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import com.sun.security.auth.module.UnixSystem;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import org.apache.hadoop.conf.Configuration;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.verbena.hadoop.hdfs.settings.TierConf;

class PrivateFolderTest {
    private static final String NODE = "1b2c";
    private static final int NOBODY = 65_534;

    @TempDir
    Path place;

    private static void mode(Path folder, String mode) throws IOException {
        Files.setPosixFilePermissions(folder, PosixFilePermissions.fromString(mode));
    }

    /** Whether a DataNode keeps replicas in memory in this folder. */
    private static Object prepare(Path folder) {
        Configuration conf = new Configuration(false);
        conf.set("verbena.hdfs.mode", "hhh");
        conf.set("verbena.hdfs.memory.dir", folder.toString());
        conf.set("verbena.hdfs.memory.size", "2m");
        conf.set("dfs.blocksize", "1m");
        return new MemoryTier(conf, TierConf.of(conf)).prepare(NODE);
    }

    private static String refusal(Path folder) {
        return assertThrows(IOException.class, () -> PrivateFolder.make(folder)).getMessage();
    }

    @Test
    void a_folder_that_is_made_is_for_its_owner_alone_and_is_taken_again() throws Exception {
        Path folder = place.resolve("new/tier");
        assertNotNull(prepare(folder));
        assertEquals("rwx------", PosixFilePermissions.toString(Files.getPosixFilePermissions(folder)));
        assertEquals("rwx------", PosixFilePermissions.toString(Files.getPosixFilePermissions(folder.resolve(NODE))));
        assertNotNull(prepare(folder));
    }

    @Test
    void a_folder_that_others_can_reach_is_no_memory_tier_at_either_level() throws Exception {
        Path folder = Files.createDirectory(place.resolve("tier"));
        mode(folder, "rwxrwxrwx");
        assertNull(prepare(folder));
        assertTrue(refusal(folder).contains("is mode 0777: others can reach replicas there"), refusal(folder));
        assertTrue(refusal(folder).contains("run: chmod 700 " + folder), refusal(folder));
        mode(folder, "rwx------");
        Path inner = Files.createDirectory(folder.resolve(NODE));
        mode(inner, "rwxr-x---");
        assertNull(prepare(folder));
        mode(inner, "rwx------");
        assertNotNull(prepare(folder));
    }

    @Test
    void a_link_is_no_memory_tier_wherever_it_leads() throws Exception {
        Path elsewhere = PrivateFolder.make(place.resolve("elsewhere"));
        Path folder = Files.createSymbolicLink(place.resolve("tier"), elsewhere);
        assertNull(prepare(folder));
        assertTrue(refusal(folder).contains("is a link or a file, and no folder"), refusal(folder));
        Path real = PrivateFolder.make(place.resolve("real"));
        Files.createSymbolicLink(real.resolve(NODE), elsewhere);
        assertNull(prepare(real));
    }

    @Test
    void a_folder_of_somebody_else_is_no_memory_tier() throws Exception {
        assumeTrue(new UnixSystem().getUid() == 0, "only root can give a folder away");
        Path folder = PrivateFolder.make(place.resolve("tier"));
        Files.setAttribute(folder, "unix:uid", NOBODY);
        assertNull(prepare(folder));
        assertTrue(refusal(folder).contains("belongs to user 65534"), refusal(folder));
    }
}
