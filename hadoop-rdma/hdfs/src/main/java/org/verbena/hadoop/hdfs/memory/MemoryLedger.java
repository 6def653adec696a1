// SPDX-License-Identifier: Apache-2.0
package org.verbena.hadoop.hdfs.memory;

import java.io.IOException;
import java.nio.file.FileVisitResult;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.SimpleFileVisitor;
import java.nio.file.attribute.BasicFileAttributes;
import java.util.HashMap;
import java.util.Map;

/**
 * The books of a memory tier: what its files take, and what replicas that are being written may still grow to. Both together
 * never exceed the limit. Sizes are whole pages, as tmpfs takes them. A deleted file counts until its last reader closes it.
 *
 * <p>Replicas that are gone are found by counting the files anew: after {@link #removed}, when something does not fit or
 * somebody asks. Thread safe; it is also the lock under which room is looked for and taken.
 */
public final class MemoryLedger {
    /** Taken for files that are no replicas: versions, cursors of Hadoop's scanners, the lock. */
    public static final long OWN = 64 << 10;
    private static final long PAGE = 4096;
    private static final int META_HEADER = 7;
    private static final int CHUNK = 512; // of Hadoop's default checksums, 4 bytes each

    /** A replica that is being written: what it may take; whether it is counted although no file of it is there yet. */
    private record Open(long bytes, boolean beforeItsFiles) {
    }

    /** Whether the sums are right, may be too large, or may be too small. */
    private enum Books {
        RIGHT, HIGH, UNKNOWN
    }

    private final Path root;
    private final long limit;
    private final Map<String, Open> open = new HashMap<>();
    private long openBytes;
    private long closedBytes;
    private long heldBytes; // part of closedBytes, as last counted
    private Books books = Books.UNKNOWN;

    /**
     * Makes the books.
     *
     * @param root the tier's folder; its files are counted at the first question
     * @param limit most bytes
     */
    public MemoryLedger(Path root, long limit) {
        this.root = root;
        this.limit = limit;
    }

    /** Returns the most bytes of all files. */
    public long limit() {
        return limit;
    }

    /**
     * Returns what a replica takes.
     *
     * @param data bytes of the block
     * @param meta bytes of the file with its checksums
     */
    public static long pages(long data, long meta) {
        return (data + PAGE - 1) / PAGE * PAGE + (meta + PAGE - 1) / PAGE * PAGE;
    }

    /**
     * Returns what a replica takes, with Hadoop's default checksums.
     *
     * @param data bytes of the block
     */
    public static long pages(long data) {
        return pages(data, META_HEADER + 4 * ((data + CHUNK - 1) / CHUNK));
    }

    /** Files of finished replicas were removed. */
    public synchronized void removed() {
        books = books == Books.RIGHT ? Books.HIGH : books;
    }

    /** Returns the bytes that are taken or promised. */
    public synchronized long used() throws IOException {
        if (books != Books.RIGHT) {
            count();
        }
        return OWN + closedBytes + openBytes;
    }

    /** Returns the part of {@link #used} that are deleted files which this process still reads. */
    public synchronized long held() throws IOException {
        used();
        return heldBytes;
    }

    /**
     * Whether so many bytes more would fit.
     *
     * @param bytes whole pages
     */
    public synchronized boolean fits(long bytes) throws IOException {
        return books != Books.UNKNOWN && OWN + closedBytes + openBytes + bytes <= limit || used() + bytes <= limit;
    }

    /**
     * A replica is going to be written, or may grow further than was said before.
     *
     * @param replica its name: block pool, slash, block
     * @param bytes what it may take in all
     * @param now what it takes as a finished replica
     * @param beforeItsFiles whether its files are made later: {@link #close} or {@link #drop} has to follow
     * @return false when it does not fit; then nothing has changed
     */
    public synchronized boolean open(String replica, long bytes, long now, boolean beforeItsFiles) throws IOException {
        Open before = open.get(replica);
        long more = bytes - (before == null ? now : before.bytes);
        if (more > 0 && !fits(more)) {
            return false;
        }
        before = open.get(replica); // counting may have found it gone
        if (before == null) {
            closedBytes -= now;
        }
        put(replica, new Open(Math.max(bytes, before == null ? now : before.bytes), beforeItsFiles));
        return true;
    }

    /**
     * A replica is finished.
     *
     * @param replica its name
     * @param bytes what it takes
     */
    public synchronized void close(String replica, long bytes) {
        if (put(replica, null)) {
            closedBytes += bytes;
        } else {
            books = Books.UNKNOWN;
        }
    }

    /** A replica was not written: its files are gone or were never made. */
    public synchronized void drop(String replica) {
        put(replica, null);
        books = Books.UNKNOWN;
    }

    private boolean put(String replica, Open now) {
        Open before = now == null ? open.remove(replica) : open.put(replica, now);
        openBytes += (now == null ? 0 : now.bytes) - (before == null ? 0 : before.bytes);
        return before != null;
    }

    /** What a finished replica's file takes counts; what an open one may take counts in its place, while a file of it is there. */
    private void count() throws IOException {
        Map<String, Long> found = new HashMap<>();
        Files.walkFileTree(root, new SimpleFileVisitor<>() {
            @Override
            public FileVisitResult visitFile(Path file, BasicFileAttributes attributes) {
                String replica = replica(file);
                if (replica != null) {
                    found.merge(replica, pages(attributes.size(), 0), Long::sum);
                }
                return FileVisitResult.CONTINUE;
            }

            @Override
            public FileVisitResult visitFileFailed(Path file, IOException cause) {
                return FileVisitResult.CONTINUE; // removed meanwhile
            }

            @Override
            public FileVisitResult postVisitDirectory(Path folder, IOException cause) {
                return FileVisitResult.CONTINUE;
            }
        });
        open.entrySet().removeIf(entry -> !entry.getValue().beforeItsFiles && !found.containsKey(entry.getKey()));
        heldBytes = HeldFiles.pages(root);
        closedBytes = heldBytes;
        found.forEach((replica, bytes) -> closedBytes += open.containsKey(replica) ? 0 : bytes);
        openBytes = open.values().stream().mapToLong(Open::bytes).sum();
        books = heldBytes > 0 ? Books.HIGH : Books.RIGHT;
    }

    /** The replica that a file belongs to: root/current/POOL/.../blk_ID or blk_ID_STAMP.meta; null when it is none. */
    private String replica(Path file) {
        String name = file.getFileName().toString();
        Path below = root.relativize(file);
        if (!name.startsWith("blk_") || below.getNameCount() < 3) {
            return null;
        }
        int end = name.indexOf('_', "blk_".length());
        return below.getName(1) + "/" + (end < 0 ? name : name.substring(0, end));
    }
}
