// SPDX-License-Identifier: Apache-2.0
package org.verbena.hadoop.lustre.buffer;

import java.io.IOException;
import java.nio.file.DirectoryIteratorException;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

/** What a folder has. A file system may fail in the middle of the list: other hosts delete, and servers go. */
final class Listing {
    /** Digits that fit into a long. */
    private static final String INODE = "[0-9]{1,18}";

    private Listing() {
    }

    /**
     * Lists a folder.
     *
     * @throws IOException also for an error behind the first name
     */
    static List<Path> of(Path folder) throws IOException {
        List<Path> all = new ArrayList<>();
        try (DirectoryStream<Path> names = Files.newDirectoryStream(folder)) {
            names.forEach(all::add);
        } catch (DirectoryIteratorException e) {
            throw e.getCause();
        }
        return all;
    }

    /** The inode that a part of a file's name says; -1: it says none. */
    static long inode(String name) {
        return name.matches(INODE) ? Long.parseLong(name) : -1;
    }
}
