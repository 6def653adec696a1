// SPDX-License-Identifier: Apache-2.0
// Reads segments from the map outputs themselves, where a reducer sees the folder in which they lie.
package org.verbena.hadoop.shuffle;

import java.io.EOFException;
import java.io.IOException;
import java.io.InputStream;
import java.io.RandomAccessFile;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.function.LongSupplier;
import org.apache.hadoop.io.SecureIOUtils;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * A folder is used when its mark is the one that the NodeManager announces, and not for a while after something in it could not be
 * read or had a wrong checksum: the core brings those segments. Thread safe.
 */
final class SharedFiles {
    private static final Logger LOG = LoggerFactory.getLogger(SharedFiles.class);
    private static final long PAUSE = TimeUnit.SECONDS.toNanos(30);

    private final Path root;
    private final String user;
    private final LongSupplier clock;
    private final Map<Wire.Folder, Seen> folders = new HashMap<>();

    /** path: null when the folder is another one here; until: not used before that time, if there was a failure. */
    private record Seen(Path path, boolean failed, long until) {
    }

    /**
     * Makes one that has looked at nothing.
     *
     * @param root of the shared file system on this host; null: nothing is shared
     * @param user who has to own the map outputs when Hadoop's security is on
     * @param clock a time in nanoseconds
     */
    SharedFiles(Path root, String user, LongSupplier clock) {
        this.root = root;
        this.user = user;
        this.clock = clock;
    }

    /** Whether a map output can be read here; place: null when the node says nothing of it. */
    synchronized boolean offers(Wire.Place place) {
        if (root == null || place == null) {
            return false;
        }
        Seen seen = folders.computeIfAbsent(place.folder(), this::look);
        return seen.path() != null && (!seen.failed() || seen.until() - clock.getAsLong() <= 0);
    }

    private Seen look(Wire.Folder folder) {
        try {
            Path path = root.toRealPath().resolve(folder.name()).toRealPath();
            boolean same = path.startsWith(root.toRealPath())
                && Files.readString(path.resolve(SharedFolders.FILE)).strip().equals(folder.mark());
            LOG.info("Verbena: map outputs in {} {}", path, same ? "can be read from the shared file system"
                : "come by the core: it is another folder here");
            return new Seen(same ? path : null, false, 0);
        } catch (IOException | RuntimeException e) {
            LOG.info("Verbena: map outputs in {} of the shared file system come by the core: {}", folder.name(), e.toString());
            return new Seen(null, false, 0);
        }
    }

    /** What was read there is not right: the core brings it. */
    synchronized void refuse(Wire.Place place, Throwable cause) {
        Seen seen = folders.get(place.folder());
        if (seen != null && seen.path() != null) {
            LOG.warn("Verbena: {} of the shared file system cannot be used, the core brings what lies in its folder for now: {}",
                place.path(), cause.toString());
            folders.put(place.folder(), new Seen(seen.path(), true, clock.getAsLong() + PAUSE));
        }
    }

    private RandomAccessFile file(Wire.Place place) throws IOException {
        Path folder;
        synchronized (this) {
            folder = folders.get(place.folder()).path();
        }
        Path file = folder.resolve(place.path()).normalize();
        if (!file.startsWith(folder)) {
            throw new IOException(place.path() + " leads out of its folder");
        }
        return SecureIOUtils.openForRandomRead(file.toFile(), "r", user, null);
    }

    /** Fills a buffer with the first bytes of a segment. */
    void read(Wire.Place place, ByteBuffer room) throws IOException {
        try (RandomAccessFile file = file(place)) {
            fill(file, place.offset(), room);
        }
    }

    private static void fill(RandomAccessFile file, long position, ByteBuffer room) throws IOException {
        long at = position;
        while (room.hasRemaining()) {
            int count = file.getChannel().read(room, at);
            if (count <= 0) {
                throw new EOFException("the map output ends " + room.remaining() + " bytes too early");
            }
            at += count;
        }
    }

    /** A segment as a stream; length: of it. */
    InputStream open(Wire.Place place, long length) throws IOException {
        return new Segment(file(place), place.offset(), length);
    }

    private static final class Segment extends InputStream {
        private final RandomAccessFile file;
        private final ByteBuffer window = ByteBuffer.allocate(Rooms.BYTES).limit(0);
        private long position;
        private long left;

        Segment(RandomAccessFile file, long position, long length) {
            this.file = file;
            this.position = position;
            this.left = length;
        }

        private boolean hasMore() throws IOException {
            if (!window.hasRemaining() && left > 0) {
                window.clear().limit((int) Math.min(window.capacity(), left));
                fill(file, position, window);
                window.flip();
                position += window.limit();
                left -= window.limit();
            }
            return window.hasRemaining();
        }

        @Override
        public int read() throws IOException {
            return hasMore() ? window.get() & 0xff : -1;
        }

        @Override
        public int read(byte[] target, int offset, int length) throws IOException {
            if (length == 0 || !hasMore()) {
                return length == 0 ? 0 : -1;
            }
            int part = Math.min(length, window.remaining());
            window.get(target, offset, part);
            return part;
        }

        @Override
        public void close() throws IOException {
            file.close();
        }
    }
}
