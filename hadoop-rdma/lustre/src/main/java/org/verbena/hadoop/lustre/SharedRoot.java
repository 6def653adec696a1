// SPDX-License-Identifier: Apache-2.0
// Which file a path of lustre: names.
package org.verbena.hadoop.lustre;

import java.io.FileNotFoundException;
import java.io.IOException;
import java.nio.file.AccessDeniedException;
import java.nio.file.FileSystemException;
import java.nio.file.FileSystemLoopException;
import java.nio.file.Files;
import java.nio.file.InvalidPathException;
import java.nio.file.Path;
import org.apache.hadoop.fs.ParentNotDirectoryException;
import org.apache.hadoop.security.AccessControlException;
import org.verbena.core.plugin.PluginSetting;
import org.verbena.hadoop.lustre.buffer.Records;

/**
 * Refuses paths that a link leads out of the root. That is a guard against mistakes: the kernel alone decides what a user may
 * read, and a link may be changed between the check and the use. Immutable.
 */
final class SharedRoot {
    private final Path root;

    /**
     * Finds the root.
     *
     * @throws IOException when it is not set or not there
     */
    SharedRoot(LustreConf conf) throws IOException {
        if (conf.root() == null) {
            throw new IOException("lustre: has no root: set " + PluginSetting.LUSTRE_ROOT.key()
                + " to a folder that all hosts share");
        }
        if (!Files.isDirectory(conf.root())) {
            throw new FileNotFoundException("lustre: the root " + conf.root() + " is not a folder: mount the shared file system, "
                + "or set " + PluginSetting.LUSTRE_ROOT.key() + " to a folder of it");
        }
        root = conf.root().toRealPath();
    }

    Path path() {
        return root;
    }

    /** The file of a path, whether it is there or not; links are not looked at. */
    private Path place(org.apache.hadoop.fs.Path path) throws IOException {
        String name = path.toUri().getPath();
        try {
            Path place = root.resolve(name.substring(1));
            if (place.startsWith(root.resolve(Records.FOLDER))) {
                throw new FileNotFoundException(path + " is a name of the burst buffer's own: take another one");
            }
            for (Path part : place) {
                if (part.toString().equals("..")) {
                    throw new IOException(path + " leads out of the file system: it begins with ..");
                }
            }
            return place;
        } catch (InvalidPathException e) {
            throw new IOException("the name of " + path + " cannot be written in the character set of this JVM: start it with "
                + "LC_ALL=C.UTF-8", e);
        }
    }

    /**
     * The file behind a path, links followed.
     *
     * @param path absolute
     * @throws ParentNotDirectoryException when there is a file where it needs a folder
     * @throws AccessControlException when a link leads out of the root
     */
    Path target(org.apache.hadoop.fs.Path path) throws IOException {
        return inside(place(path), path);
    }

    /** The same, but for a link that is itself the last part of the path: that is given. */
    Path entry(org.apache.hadoop.fs.Path path) throws IOException {
        Path place = place(path);
        return place.equals(root) ? root : inside(place.getParent(), path).resolve(place.getFileName());
    }

    private Path inside(Path place, org.apache.hadoop.fs.Path path) throws IOException {
        for (Path known = place; known.startsWith(root); known = known.getParent()) {
            try {
                Path real = known.toRealPath();
                if (!real.startsWith(root)) {
                    throw new AccessControlException(path + " leads out of the file system, to " + real
                        + ": links may only lead to places below " + root);
                }
                if (!known.equals(place) && !Files.isDirectory(real)) {
                    throw new ParentNotDirectoryException(path + " cannot be there: " + known + " is a file");
                }
                return known.equals(place) ? real : real.resolve(known.relativize(place));
            } catch (AccessDeniedException | FileSystemLoopException e) {
                throw Errors.of(e, path);
            } catch (FileSystemException e) { // this part is not there, or is below a file: the part above tells
                continue;
            }
        }
        throw new FileNotFoundException("the root " + root + " is not there any more: mount the shared file system");
    }
}
