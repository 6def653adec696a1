// SPDX-License-Identifier: Apache-2.0
package org.verbena.hadoop.hdfs.memory;

import java.io.IOException;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.Map;

/** Files that are deleted while this process still reads them: tmpfs keeps their pages until they are closed. */
final class HeldFiles {
    private static final Path OPEN = Path.of("/proc/self/fd");
    private static final String DELETED = " (deleted)"; // behind the path, in the kernel's links to open files

    private HeldFiles() {
    }

    /**
     * Returns the whole pages of all deleted files that are open.
     *
     * @param root the folder that they were in, or in a folder below it
     */
    static long pages(Path root) throws IOException {
        if (!Files.isDirectory(OPEN)) {
            return 0;
        }
        String below = root.toRealPath() + "/";
        Map<Object, Long> found = new HashMap<>();
        try (DirectoryStream<Path> all = Files.newDirectoryStream(OPEN)) {
            for (Path one : all) {
                add(one, below, found);
            }
        }
        return found.values().stream().mapToLong(Long::longValue).sum();
    }

    /** A file counts once, however often it is open. */
    private static void add(Path one, String below, Map<Object, Long> found) {
        try {
            String path = Files.readSymbolicLink(one).toString();
            if (path.startsWith(below) && path.endsWith(DELETED)) {
                Map<String, Object> file = Files.readAttributes(one, "unix:ino,size");
                found.put(file.get("ino"), MemoryLedger.pages((long) file.get("size"), 0));
            }
        } catch (IOException e) {
            // closed meanwhile
        }
    }
}
