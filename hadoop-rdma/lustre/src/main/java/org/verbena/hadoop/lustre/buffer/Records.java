// SPDX-License-Identifier: Apache-2.0
package org.verbena.hadoop.lustre.buffer;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.attribute.FileTime;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.HashMap;
import java.util.Map;

/**
 * The folder of the shared directory that knows which files are in the buffer. A file is known by its inode, which a rename keeps:
 *
 * <pre>
 * INODE.open     the record of a file that has a writer
 * INODE.closed   the record after the writer's close, which is a rename
 * INODE.data     another name of the file; the only one: the file was deleted
 * INODE.done     chunks that the shared file has
 * INODE.claim    the process that flushes the file
 * </pre>
 *
 * Invariants: R1 the record is made before .data, and deleted before .done and .data: .data without record is a file that the
 * shared directory has whole. R2 .data keeps the inode from being used again. R3 one of writer and flusher renames .open.
 */
public final class Records {
    /** Its name, below the root. */
    public static final String FOLDER = ".verbena-buffer";
    private static final String MODE = "rwxrwxrwx";
    private static final int STICKY = 01000;

    private final Path root;
    private final long rootInode;
    private final Path folder;

    /** Of a root of lustre:. */
    public Records(Path root) {
        this.root = root;
        rootInode = rootInode();
        folder = root.resolve(FOLDER);
    }

    private long rootInode() {
        try {
            return inodeOf(root);
        } catch (IOException e) {
            return 0; // there is none
        }
    }

    /**
     * Looks for the root: a record that is not found tells nothing while it is away. A mount point without its file system is
     * another folder.
     *
     * @throws IOException when it is away
     */
    void expectRoot() throws IOException {
        if (rootInode == 0 || rootInode() != rootInode) {
            throw new IOException("the shared folder " + root + " is away: mount its file system again, or start this process "
                + "again if it began before the mount; nothing is flushed until then");
        }
    }

    Path folder() {
        return folder;
    }

    Path open(long inode) {
        return folder.resolve(inode + ".open");
    }

    Path closed(long inode) {
        return folder.resolve(inode + ".closed");
    }

    Path data(long inode) {
        return folder.resolve(inode + ".data");
    }

    Path done(long inode) {
        return folder.resolve(inode + ".done");
    }

    Path claim(long inode) {
        return folder.resolve(inode + ".claim");
    }

    /** Each user may make files in it and delete the own ones. */
    void make() throws IOException {
        if (!Files.isDirectory(folder)) {
            try {
                Files.createDirectory(folder);
                Files.setPosixFilePermissions(folder, PosixFilePermissions.fromString(MODE));
                Files.setAttribute(folder, "unix:mode", STICKY | 0777);
            } catch (java.nio.file.FileAlreadyExistsException e) {
                return;
            }
        }
    }

    /** The record of a file; null: the shared directory has all of it. */
    Found find(long inode) throws IOException {
        for (Path file : new Path[] {open(inode), closed(inode)}) { // in the order in which a file has them
            try {
                return new Found(Record.read(file), file.equals(open(inode)));
            } catch (NoSuchFileException e) {
                continue;
            }
        }
        return null;
    }

    /** How many chunks of the record, from the first one, the shared file has. */
    int doneOf(long inode) throws IOException {
        try {
            String[] lines = Files.readString(done(inode)).split("\n", -1);
            int most = 0;
            for (int i = 0; i < lines.length - 1; i++) {
                most = Math.max(most, Integer.parseInt(lines[i]));
            }
            return most;
        } catch (NoSuchFileException e) {
            return 0;
        } catch (NumberFormatException e) {
            throw damaged(done(inode), e);
        }
    }

    /** A file of this folder without its sense. */
    static IOException damaged(Path file, RuntimeException cause) {
        return new IOException(file + " has not the bytes that the burst buffer wrote: the shared file system has damaged it; "
            + "delete the file that it belongs to, and write it again", cause);
    }

    static long inodeOf(Path file) throws IOException {
        return ((Number) Files.getAttribute(file, "unix:ino")).longValue();
    }

    static int linksOf(Path file) throws IOException {
        return (Integer) Files.getAttribute(file, "unix:nlink");
    }

    /**
     * What the kernel says of a file, with length and time of one that is in the buffer.
     *
     * @param told attributes of "unix:", with ino, nlink, size, lastModifiedTime and isDirectory
     */
    public Map<String, Object> corrected(Map<String, Object> told) throws IOException {
        if ((Boolean) told.get("isDirectory") || (Integer) told.get("nlink") < 2) {
            return told;
        }
        Found found = find(((Number) told.get("ino")).longValue());
        if (found == null) {
            return told;
        }
        Map<String, Object> right = new HashMap<>(told);
        right.put("size", Math.max((Long) told.get("size"), Math.max(found.record.end(), found.record.length())));
        if (found.record.modified() >= 0) {
            right.put("lastModifiedTime", FileTime.fromMillis(found.record.modified()));
        }
        return right;
    }

    /** A record, and whether its file has a writer. */
    record Found(Record record, boolean isOpen) {
    }
}
