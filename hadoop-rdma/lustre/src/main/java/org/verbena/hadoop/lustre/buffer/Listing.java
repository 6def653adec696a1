// SPDX-License-Identifier: Apache-2.0
package org.verbena.hadoop.lustre.buffer;

import java.io.IOException;
import java.nio.file.DirectoryIteratorException;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.OptionalLong;

/** What a folder has. A file system may fail in the middle of the list: other hosts delete, and servers go. */
final class Listing {
    /** 64 bits, as Java writes them: the kernel's numbers from 2^63 on are negative. */
    private static final String INODE = "-?[0-9]{1,19}";

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

    /** The inode that a part of a file's name says; empty: it says none. */
    static OptionalLong inode(String name) {
        try {
            return name.matches(INODE) ? OptionalLong.of(Long.parseLong(name)) : OptionalLong.empty();
        } catch (NumberFormatException e) {
            return OptionalLong.empty(); // too large for any inode
        }
    }
}
