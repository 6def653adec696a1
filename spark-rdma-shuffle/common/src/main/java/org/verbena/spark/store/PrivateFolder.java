// SPDX-License-Identifier: Apache-2.0
// Directories that nobody but their user may enter.
package org.verbena.spark.store;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Of mode 0700, owned by this process' user, and no links. */
final class PrivateFolder {
    private static final Logger LOG = LoggerFactory.getLogger(PrivateFolder.class);

    private PrivateFolder() {
    }

    /** User id of this process. */
    static int userId() throws IOException {
        return (Integer) Files.getAttribute(Path.of("/proc/self"), "unix:uid");
    }

    /** A name from outside, as that of one file. */
    static String safe(String name) {
        String text = name.replaceAll("[^A-Za-z0-9_.-]", "_");
        return text.startsWith(".") ? "_" + text : text;
    }

    /** Makes a directory of mode 0700, or checks an existing one. */
    static Path make(Path path) throws IOException {
        if (!Files.exists(path, LinkOption.NOFOLLOW_LINKS)) {
            try {
                Files.createDirectory(path,
                    PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString("rwx------")));
            } catch (java.nio.file.FileAlreadyExistsException e) {
                LOG.debug("{} was made by another executor meanwhile", path);
            }
        }
        return check(path);
    }

    /** Gives the directory back if it is ours, of mode 0700 and no link. */
    static Path check(Path path) throws IOException {
        boolean directory = Files.isDirectory(path, LinkOption.NOFOLLOW_LINKS);
        int owner = (Integer) Files.getAttribute(path, "unix:uid", LinkOption.NOFOLLOW_LINKS);
        String mode = PosixFilePermissions.toString(Files.getPosixFilePermissions(path, LinkOption.NOFOLLOW_LINKS));
        if (!directory || owner != userId() || !mode.equals("rwx------")) {
            throw new IOException(path + " is not a directory of mode 0700 owned by this user; remove it");
        }
        return path;
    }
}
