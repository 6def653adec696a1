// SPDX-License-Identifier: Apache-2.0
// Symbolic links in Hadoop's words.
package org.verbena.hadoop.lustre;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;

/** Links are written relative to their own place, so that the root may have another path on another host. Immutable. */
final class Links {
    private static final String SEPARATOR = org.apache.hadoop.fs.Path.SEPARATOR;

    private final Path root;

    Links(Path root) {
        this.root = root;
    }

    /** @param behind where it leads to, below the root */
    void create(Path link, Path behind) throws IOException {
        Files.createSymbolicLink(link, link.getParent().relativize(behind));
    }

    /** Of a link itself. */
    LustreStatus status(Path link, long blockSize, org.apache.hadoop.fs.Path path) throws IOException {
        return LustreStatus.ofLink(link, blockSize, target(link), path);
    }

    /** A path of lustre: for a place below the root, else of file:, as the link says it. */
    org.apache.hadoop.fs.Path target(Path link) throws IOException {
        Path behind = link.getParent().resolve(Files.readSymbolicLink(link)).normalize();
        if (!behind.startsWith(root)) {
            return new org.apache.hadoop.fs.Path("file", null, behind.toString());
        }
        return new org.apache.hadoop.fs.Path(LustreFileSystem.SCHEME, null, SEPARATOR + root.relativize(behind));
    }
}
