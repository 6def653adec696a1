// SPDX-License-Identifier: Apache-2.0
// A folder that nobody else can have prepared.
package org.verbena.hadoop.hdfs.memory;

import com.sun.security.auth.module.UnixSystem;
import java.io.IOException;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.Locale;
import java.util.Map;

/**
 * Replicas lie below a name that everybody can guess, in a place where everybody may make folders: what is there already is
 * used only when it is this user's alone. Who has passed the check cannot be replaced afterwards: {@code /dev/shm} lets only
 * owners rename.
 */
public final class PrivateFolder {
    private static final String OWNER_ALONE = "rwx------";
    private static final int PERMISSIONS = 0777;
    private static final int MODE = 0700;

    private PrivateFolder() {
    }

    /**
     * Makes a folder for this user alone, with the folders above it, or takes the one that is there.
     *
     * @param folder absolute
     * @return the folder
     * @throws IOException when it cannot be made, or {@link #check} refuses what is there
     */
    static Path make(Path folder) throws IOException {
        if (!Files.exists(folder, LinkOption.NOFOLLOW_LINKS)) {
            Files.createDirectories(folder.getParent());
            try {
                Files.createDirectory(folder, PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString(OWNER_ALONE)));
            } catch (FileAlreadyExistsException e) {
                check(folder); // somebody was faster
            }
        }
        check(folder);
        return folder;
    }

    /**
     * Checks that a folder is one, no link, this user's, and of mode 700.
     *
     * @param folder the folder
     * @throws IOException when it is not: the text says how to mend that
     */
    public static void check(Path folder) throws IOException {
        Map<String, Object> found = Files.readAttributes(folder, "unix:mode,uid,isDirectory", LinkOption.NOFOLLOW_LINKS);
        long user = new UnixSystem().getUid();
        long owner = Integer.toUnsignedLong((Integer) found.get("uid"));
        int mode = (int) found.get("mode") & PERMISSIONS;
        if (!(boolean) found.get("isDirectory")) {
            throw new IOException(folder + " is a link or a file, and no folder; remove it");
        }
        if (owner != user) {
            throw new IOException(folder + " belongs to user " + owner + " and not to " + user + ": user " + owner
                + " could read and replace replicas there; find the program that made the folder, and remove it as root");
        }
        if (mode != MODE) {
            throw new IOException(String.format(Locale.ROOT, "%s is mode %04o: others can reach replicas there, or not even this "
                + "user; run: chmod 700 %s", folder, mode, folder));
        }
    }
}
