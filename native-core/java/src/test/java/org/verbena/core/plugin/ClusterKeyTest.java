// SPDX-License-Identifier: Apache-2.0
package org.verbena.core.plugin;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.verbena.core.VbnContext;

class ClusterKeyTest {
    private static String refusal(ClusterKey key) {
        return assertThrows(IOException.class, () -> key.config("test 1")).getMessage();
    }

    @Test
    void keys_that_cannot_be_used_are_named_with_the_cure(@TempDir Path folder) throws Exception {
        Path file = folder.resolve("key");
        ClusterKey with = new ClusterKey("verbena.x.", file.toString(), false);
        assertTrue(refusal(new ClusterKey("verbena.x.", "", false)).contains("set verbena.x.key.file"));
        assertTrue(refusal(with).startsWith("verbena.x.key.file: key file " + file + ": No such file or directory; name one"));
        Files.createFile(file, PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString("rw-------")));
        for (String wrong : new String[] {"", "short", "g".repeat(64), "0".repeat(65)}) {
            Files.writeString(file, wrong);
            assertTrue(refusal(with).contains("64 hexadecimal digits"));
        }
        Files.writeString(file, "0123456789abcdefABCDEF0123456789".repeat(2) + "\n");
        VbnContext.open(with.config("test 1").set("tl.enable", "self")).close();
        VbnContext.open(new ClusterKey("verbena.x.", "", true).config("test 1").set("tl.enable", "self")).close();
    }

    @Test
    void a_key_that_others_read_or_its_group_writes_is_refused_with_file_mode_and_cure(@TempDir Path folder) throws Exception {
        Path file = Files.writeString(folder.resolve("key"), "0".repeat(64));
        ClusterKey key = new ClusterKey("verbena.x.", file.toString(), false);
        for (Map.Entry<String, String> wrong : Map.of("rw-r--r--", "644", "rw----r--", "604").entrySet()) {
            Files.setPosixFilePermissions(file, PosixFilePermissions.fromString(wrong.getKey()));
            assertEquals("verbena.x.key.file: " + file + " is mode 0" + wrong.getValue()
                + ": others can read the key; run: chmod 600 " + file, refusal(key));
        }
        Path link = Files.createSymbolicLink(folder.resolve("link"), file);
        assertTrue(refusal(new ClusterKey("verbena.x.", link.toString(), false)).contains("others can read the key"));
        Files.setPosixFilePermissions(file, PosixFilePermissions.fromString("rw-rw----"));
        assertEquals("verbena.x.key.file: " + file + " is mode 0660: more than reading for its group is too much; run: chmod 640 "
            + file, refusal(key));
    }

    @Test
    void a_key_that_its_group_reads_is_the_same_key(@TempDir Path folder) throws Exception {
        Path file = Files.writeString(folder.resolve("key"), "0".repeat(64));
        for (String right : new String[] {"rw-------", "rw-r-----", "r--r-----", "r--------"}) {
            Files.setPosixFilePermissions(file, PosixFilePermissions.fromString(right));
            new ClusterKey("verbena.x.", file.toString(), false).config("test 1");
        }
    }

    @Test
    void a_key_of_another_user_is_refused(@TempDir Path folder) throws Exception {
        Path file = Files.writeString(folder.resolve("key"), "0".repeat(64));
        Files.setPosixFilePermissions(file, PosixFilePermissions.fromString("rw-------"));
        assumeTrue(System.getProperty("user.name").equals("root"), "only root gives files away");
        Files.setAttribute(file, "unix:uid", 65533);
        assertEquals("verbena.x.key.file: key file " + file + ": belongs to user 65533, who knows the key; see that this user, or "
            + "root, owns it (chown)", refusal(new ClusterKey("verbena.x.", file.toString(), false)));
    }
}
