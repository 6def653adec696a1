// SPDX-License-Identifier: Apache-2.0
// Which executors of an application on this host are below the same memory limits.
package org.verbena.spark.store;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.DirectoryIteratorException;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;

/**
 * The file {@code limits} in an executor's directory: the holders of its memory limits, one a line. It is there before the lock
 * file, so that a directory without both is one that is just being made and has no map outputs. An executor with a lock file and no
 * such file, or one that cannot be read, counts below every limit.
 */
final class SharedLimits {
    static final String FILE = "limits";

    private final List<Set<String>> known;
    private final int unknown;

    private SharedLimits(List<Set<String>> known, int unknown) {
        this.known = known;
        this.unknown = unknown;
    }

    /** Writes the file. */
    static void publish(Path directory, Set<String> holders) throws IOException {
        Files.write(directory.resolve(FILE), holders, StandardCharsets.UTF_8);
    }

    /** Reads those of all executors that have directories below this one. */
    static SharedLimits of(Path application) {
        List<Set<String>> known = new ArrayList<>();
        int unknown = 0;
        try (DirectoryStream<Path> executors = Files.newDirectoryStream(application)) {
            for (Path executor : executors) {
                if (!DeadExecutors.hasLock(executor)) {
                    continue;
                }
                try {
                    known.add(Set.copyOf(Files.readAllLines(executor.resolve(FILE), StandardCharsets.UTF_8)));
                } catch (IOException e) {
                    unknown += Files.isDirectory(executor) ? 1 : 0;
                }
            }
        } catch (IOException | DirectoryIteratorException e) {
            return new SharedLimits(known, unknown); // the last executor has removed the directory
        }
        return new SharedLimits(known, unknown);
    }

    /** How many executors are below the limit of this holder, at least one. */
    int executors(String holder) {
        return Math.max(1, unknown + (int) known.stream().filter(holders -> holders.contains(holder)).count());
    }
}
