// SPDX-License-Identifier: Apache-2.0
// Makes a volume's data ready for a new owner.
package org.verbena.hadoop.hdfs.shared;

import java.io.IOException;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.ArrayList;
import java.util.List;

/** What Hadoop's code would stumble over in a volume that had another owner. */
final class VolumeData {
    private static final String IDENTITY = "datanodeUuid=";
    private static final String LOCK = "in_use.lock";
    private static final String COPY = ".copy";
    private static final String HIDDEN = ".";

    private VolumeData() {
    }

    /**
     * Makes it ready.
     *
     * @param data Hadoop's volume
     * @param node identity of the DataNode that has it now
     * @param lock where Hadoop may lock a file for this volume, on the host's own disk
     */
    static void prepare(Path data, String node, Path lock) throws IOException {
        lockElsewhere(data, lock);
        rename(data, node);
        cutDescriptors(data);
    }

    /**
     * Hadoop locks a file in each volume. On this path that fails with "function not implemented" where Lustre is mounted without
     * the option flock, and means nothing between hosts with localflock. The owner's number does the work, so the lock is a local
     * one.
     */
    private static void lockElsewhere(Path data, Path lock) throws IOException {
        Files.deleteIfExists(data.resolve(LOCK));
        Files.createSymbolicLink(data.resolve(LOCK), lock);
    }

    /** Whether a folder is a volume's data that {@link #prepare} has seen: one that Hadoop makes by the same name has no link. */
    static boolean isPrepared(Path data) {
        return Files.isSymbolicLink(data.resolve(LOCK));
    }

    /** Hadoop refuses volumes of another DataNode. */
    private static void rename(Path data, String node) throws IOException {
        Path version = data.resolve("current/VERSION");
        if (!Files.exists(version)) {
            return; // Hadoop formats it
        }
        List<String> lines = new ArrayList<>();
        for (String line : Files.readAllLines(version)) {
            lines.add(line.startsWith(IDENTITY) ? IDENTITY + node : line);
        }
        Path copy = version.resolveSibling(version.getFileName() + COPY);
        Files.write(copy, lines);
        Files.move(copy, version, StandardCopyOption.ATOMIC_MOVE);
    }

    /** Copies replicas that were being written, so that a file that the former owner still has open is no file of ours. */
    private static void cutDescriptors(Path data) throws IOException {
        if (!Files.isDirectory(data.resolve("current"))) {
            return;
        }
        try (DirectoryStream<Path> pools = Files.newDirectoryStream(data.resolve("current"), "BP-*")) {
            for (Path pool : pools) {
                Path writing = pool.resolve("current/rbw");
                if (Files.isDirectory(writing)) {
                    copyEach(writing);
                }
            }
        }
    }

    /** What an owner has left that did not end a copy goes: Hadoop takes any file that begins like a block for its checksums. */
    private static void copyEach(Path folder) throws IOException {
        try (DirectoryStream<Path> left = Files.newDirectoryStream(folder, "*" + COPY)) {
            for (Path copy : left) {
                Files.deleteIfExists(copy);
            }
        }
        try (DirectoryStream<Path> files = Files.newDirectoryStream(folder, "blk_*")) {
            for (Path file : files) {
                Path copy = file.resolveSibling(HIDDEN + file.getFileName() + COPY);
                Files.copy(file, copy, StandardCopyOption.REPLACE_EXISTING);
                Files.move(copy, file, StandardCopyOption.ATOMIC_MOVE);
            }
        }
    }
}
