// SPDX-License-Identifier: Apache-2.0
// Makes files of lustre:.
package org.verbena.hadoop.lustre;

import java.io.IOException;
import java.nio.channels.FileChannel;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.StandardOpenOption;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.fs.permission.FsPermission;

/** A file that replaces another one is a new file, so that those who still read the old one read it to its end. Immutable. */
final class NewFile {
    private static final int TRIES = 100;

    private final LustreConf settings;
    private final LfsTool lfs;

    NewFile(LustreConf settings, LfsTool lfs) {
        this.settings = settings;
        this.lfs = lfs;
    }

    /** Makes a file, open for writing, in a folder that is there. */
    FileChannel create(java.nio.file.Path file, Path path, FsPermission mode, boolean overwrite) throws IOException {
        for (int i = 0;; i++) {
            if (Files.isDirectory(file, LinkOption.NOFOLLOW_LINKS)) {
                throw new org.apache.hadoop.fs.FileAlreadyExistsException(path + " is a directory");
            }
            try {
                return layOut(file, mode);
            } catch (FileAlreadyExistsException e) {
                if (!overwrite || i == TRIES) {
                    throw e;
                }
                Files.deleteIfExists(file);
            }
        }
    }

    /** With the stripes of the settings, if there are any. */
    private FileChannel layOut(java.nio.file.Path file, FsPermission mode) throws IOException {
        if (!lfs.isThere() || settings.stripeSize() == 0 && settings.stripeCount() == 0) {
            return Modes.create(file, mode);
        }
        if (Files.exists(file, LinkOption.NOFOLLOW_LINKS)) {
            throw new FileAlreadyExistsException(file.toString());
        }
        lfs.make(file, settings.stripeSize(), settings.stripeCount());
        Modes.set(file, mode);
        return FileChannel.open(file, StandardOpenOption.WRITE);
    }
}
