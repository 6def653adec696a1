// SPDX-License-Identifier: Apache-2.0
package org.verbena.hadoop.lustre.buffer;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.List;
import java.util.Set;
import java.util.stream.Stream;

/** Copies of chunks on a disk of the writer's host: a file INODE-ID for each file in the buffer, its chunks at their places. */
final class LocalCopies {
    private static final int STICKY = 01000;

    private final Path folder;

    LocalCopies(Path folder) {
        this.folder = folder;
    }

    private Path file(long inode, String id) {
        return folder.resolve(inode + "-" + id);
    }

    /** For the user alone. */
    FileChannel create(long inode, String id) throws IOException {
        if (!Files.isDirectory(folder)) {
            Files.createDirectories(folder);
            Files.setAttribute(folder, "unix:mode", STICKY | 0777);
        }
        return FileChannel.open(file(inode, id), Set.of(StandardOpenOption.CREATE_NEW, StandardOpenOption.WRITE),
            PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString("rw-------")));
    }

    /** The bytes of a chunk; null: this host has none, or not these. */
    ByteBuffer read(long inode, String id, Chunk chunk) throws IOException {
        ByteBuffer bytes = ByteBuffer.allocate(chunk.length());
        try (FileChannel channel = FileChannel.open(file(inode, id), StandardOpenOption.READ)) {
            for (int length = 0; bytes.hasRemaining() && length >= 0;) {
                length = channel.read(bytes, chunk.offset() + bytes.position());
            }
        } catch (NoSuchFileException | java.nio.file.AccessDeniedException e) {
            return null;
        }
        bytes.flip();
        return chunk.isOf(bytes) ? bytes : null;
    }

    /** Deletes copies of files that the shared directory has, or that were deleted. */
    void sweep(Records records) throws IOException {
        if (!Files.isDirectory(folder)) {
            return;
        }
        List<Path> files;
        try (Stream<Path> all = Files.list(folder)) {
            files = all.toList();
        }
        for (Path file : files) {
            String[] name = file.getFileName().toString().split("-", 2);
            if (name.length == 2 && name[0].matches("[0-9]+") && Files.isWritable(file)) {
                Records.Found found = records.find(Long.parseLong(name[0])); // made before its copies
                if (found == null || !found.record().id().equals(name[1])) {
                    records.expectRoot();
                    Files.deleteIfExists(file);
                }
            }
        }
    }
}
