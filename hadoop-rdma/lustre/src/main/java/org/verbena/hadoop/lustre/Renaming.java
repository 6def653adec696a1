// SPDX-License-Identifier: Apache-2.0
// rename with the rules of HDFS.
package org.verbena.hadoop.lustre;

import java.io.FileNotFoundException;
import java.io.IOException;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.FileSystemException;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import org.apache.hadoop.fs.ParentNotDirectoryException;
import org.apache.hadoop.fs.PathIOException;

/**
 * HDFS replaces nothing unless that is asked for; rename(2) does. A file therefore gets its new name by link(2), which fails where
 * the name is taken, and loses the old one after that: of two clients that take the same name one succeeds. For a moment, and
 * after a crash in between, it has both names; renaming it again then only removes the old one. Folders, and files that may not
 * be linked, are renamed in one step after a look at the new name.
 */
final class Renaming {
    private Renaming() {
    }

    private static boolean isThere(Path file) {
        return Files.exists(file, LinkOption.NOFOLLOW_LINKS);
    }

    private static boolean isFile(Path file) {
        return Files.isRegularFile(file, LinkOption.NOFOLLOW_LINKS);
    }

    /**
     * The old call: false where HDFS says false.
     *
     * @param wanted the new name, or a folder to put it into
     */
    static boolean rename(Path root, Path from, Path wanted) throws IOException {
        Path to = Files.isDirectory(wanted) ? wanted.resolve(root.equals(from) ? from : from.getFileName()) : wanted;
        if (root.equals(from) || !isThere(from) || to.startsWith(from) && !to.equals(from)) {
            return false;
        }
        if (to.equals(from)) {
            return true;
        }
        return Files.isDirectory(to.getParent()) && move(from, to);
    }

    /** False: another client has done so. */
    private static boolean removeOld(Path from, Path to) throws IOException {
        try {
            return Files.deleteIfExists(from);
        } catch (FileSystemException e) {
            PathIOException both = new PathIOException(from.toString(), "the file has the new name " + to
                + " as well, and the old one cannot be removed (" + e.getReason() + "): remove one as the owner of its folder");
            both.initCause(e);
            throw both;
        }
    }

    /** False when the new name is taken. */
    private static boolean move(Path from, Path to) throws IOException {
        if (isFile(from)) {
            try {
                Files.createLink(to, from);
                removeOld(from, to);
                return true;
            } catch (FileAlreadyExistsException e) {
                return isFile(to) && Files.isSameFile(from, to) && removeOld(from, to);
            } catch (PathIOException e) {
                throw e;
            } catch (UnsupportedOperationException | FileSystemException e) {
                if (!isThere(from)) {
                    return isThere(to); // another client has removed the old name of what now has the new one
                }
            }
        }
        if (isThere(to)) {
            return false;
        }
        Files.move(from, to, StandardCopyOption.ATOMIC_MOVE);
        return true;
    }

    /**
     * The call of FileContext: an exception says what is in the way.
     *
     * @param overwrite whether a file or an empty folder of the new name may be replaced, in one step
     */
    static void rename(Path root, Path from, Path to, boolean overwrite) throws IOException {
        if (!isThere(from)) {
            throw new FileNotFoundException("rename source " + from + " not found.");
        }
        if (root.equals(from) || root.equals(to) || to.startsWith(from) && !to.equals(from)) {
            throw new PathIOException(from.toString(), "the root, and a folder into itself, cannot be renamed");
        }
        if (to.equals(from)) {
            throw new org.apache.hadoop.fs.FileAlreadyExistsException(
                "The source " + from + " and destination " + to + " are the same");
        }
        if (!isThere(to.getParent())) {
            throw new FileNotFoundException("rename destination parent " + to.getParent() + " not found.");
        }
        if (!Files.isDirectory(to.getParent())) {
            throw new ParentNotDirectoryException("rename destination parent " + to.getParent() + " is a file.");
        }
        if (overwrite && isThere(to)) {
            replace(from, to);
        } else if (!move(from, to)) {
            throw new org.apache.hadoop.fs.FileAlreadyExistsException("rename destination " + to + " already exists.");
        }
    }

    private static void replace(Path from, Path to) throws IOException {
        boolean folder = Files.isDirectory(from, LinkOption.NOFOLLOW_LINKS);
        if (folder != Files.isDirectory(to, LinkOption.NOFOLLOW_LINKS)) {
            throw new PathIOException(from.toString(), "a folder and a file cannot take each other's place: " + to);
        }
        if (!folder && Files.isSameFile(from, to)) {
            Files.delete(from); // a second name of the same file, which rename(2) would keep
            return;
        }
        try {
            Files.move(from, to, StandardCopyOption.ATOMIC_MOVE);
        } catch (FileSystemException e) {
            if (folder && isThere(to)) {
                throw new PathIOException(to.toString(), "rename cannot overwrite a folder that is not empty");
            }
            throw e;
        }
    }
}
