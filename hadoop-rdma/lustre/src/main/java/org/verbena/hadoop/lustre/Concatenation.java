// SPDX-License-Identifier: Apache-2.0
// Appends files to another one, and deletes them.
package org.verbena.hadoop.lustre;

import java.io.IOException;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.StandardOpenOption;
import java.util.HashSet;
import java.util.List;
import java.util.UUID;
import org.apache.hadoop.fs.permission.FsPermission;

/**
 * POSIX cannot join files, so their bytes are copied into a new file, which then takes the name of the first one in one step:
 * readers see the file as it was or all of it. The sources are deleted after that.
 */
final class Concatenation {
    private static final String TEMPORARY = ".verbena-concat-";

    private Concatenation() {
    }

    static void run(Path target, List<Path> sources) throws IOException {
        if (sources.isEmpty()) {
            throw new IllegalArgumentException("there are no files to append");
        }
        if (sources.contains(target) || new HashSet<>(sources).size() < sources.size()) {
            throw new IllegalArgumentException("a file can be given once");
        }
        for (Path file : sources) {
            checkFile(file);
        }
        checkFile(target);
        Path joined = target.resolveSibling(TEMPORARY + UUID.randomUUID());
        try {
            join(joined, target, sources);
            Files.move(joined, target, StandardCopyOption.ATOMIC_MOVE);
        } finally {
            Files.deleteIfExists(joined);
        }
        for (Path file : sources) {
            Files.deleteIfExists(file);
        }
    }

    private static void checkFile(Path file) throws IOException {
        if (!Files.isRegularFile(file)) {
            throw new java.io.FileNotFoundException("Path is not a file: " + file);
        }
    }

    private static void join(Path joined, Path target, List<Path> sources) throws IOException {
        int mode = (Integer) Files.getAttribute(target, "unix:mode") & 0777;
        try (FileChannel out = Modes.create(joined, new FsPermission((short) mode))) {
            long end = copy(target, out);
            for (Path file : sources) {
                end += copy(file, out);
            }
            if (out.size() != end) {
                throw new IOException("the joined file has " + out.size() + " of " + end + " bytes");
            }
        }
    }

    private static long copy(Path file, FileChannel out) throws IOException {
        try (FileChannel in = FileChannel.open(file, StandardOpenOption.READ)) {
            long length = in.size();
            for (long done = 0; done < length;) {
                long part = in.transferTo(done, length - done, out);
                if (part <= 0) {
                    throw new IOException(file + " became shorter while it was read");
                }
                done += part;
            }
            return length;
        }
    }
}
