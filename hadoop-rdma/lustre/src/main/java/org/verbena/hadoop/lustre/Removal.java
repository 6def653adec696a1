// SPDX-License-Identifier: Apache-2.0
// Deletes a file, or a folder with all that is in it.
package org.verbena.hadoop.lustre;

import java.io.IOException;
import java.nio.file.FileVisitResult;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.SimpleFileVisitor;
import java.nio.file.attribute.BasicFileAttributes;

/** Links are deleted, and not followed. What another client deletes at the same time is no error. */
final class Removal extends SimpleFileVisitor<Path> {
    private Removal() {
    }

    /** False when it is not there. */
    static boolean run(Path file) throws IOException {
        if (Files.exists(file, java.nio.file.LinkOption.NOFOLLOW_LINKS)) {
            Files.walkFileTree(file, new Removal());
            return true;
        }
        return false;
    }

    @Override
    public FileVisitResult visitFile(Path file, BasicFileAttributes attributes) throws IOException {
        Files.deleteIfExists(file);
        return FileVisitResult.CONTINUE;
    }

    @Override
    public FileVisitResult visitFileFailed(Path file, IOException error) throws IOException {
        if (error instanceof NoSuchFileException) {
            return FileVisitResult.CONTINUE;
        }
        throw error;
    }

    @Override
    public FileVisitResult postVisitDirectory(Path folder, IOException error) throws IOException {
        if (error != null && !(error instanceof NoSuchFileException)) {
            throw error;
        }
        Files.deleteIfExists(folder);
        return FileVisitResult.CONTINUE;
    }
}
