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
import java.util.ArrayList;
import java.util.List;
import java.util.OptionalLong;
import java.util.Set;

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

    /**
     * Deletes copies of files that the shared directory has, or that were deleted.
     *
     * @return a line for what stays though it might go; no flush waits for that
     * @throws IOException when the root is away
     */
    List<String> sweep(Records records) throws IOException {
        List<Path> all;
        try {
            all = Listing.of(folder);
        } catch (NoSuchFileException e) {
            return List.of(); // this host has no copies
        } catch (IOException e) {
            return List.of("copies of this host stay in " + folder + ", which cannot be listed (" + e + "): run the flusher as "
                + "root, or make it a folder of mode 1777");
        }
        List<String> left = new ArrayList<>();
        for (Path file : all) {
            if (isUnused(file, records)) {
                records.expectRoot();
                try {
                    Files.deleteIfExists(file);
                } catch (IOException e) {
                    left.add("a copy of this host stays: " + file + " cannot be deleted (" + e + "): delete it as its owner");
                }
            }
        }
        return left;
    }

    private static boolean isUnused(Path file, Records records) {
        String name = file.getFileName().toString();
        int end = name.indexOf('-', 1); // behind a sign
        OptionalLong inode = end < 0 ? OptionalLong.empty() : Listing.inode(name.substring(0, end));
        try {
            if (inode.isEmpty() || !Files.isWritable(file)) {
                return false;
            }
            Records.Found found = records.find(inode.getAsLong()); // made before its copies
            return found == null || !found.record().id().equals(name.substring(end + 1));
        } catch (IOException e) {
            return false; // its record is damaged: the flush tells that
        }
    }
}
