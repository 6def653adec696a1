// SPDX-License-Identifier: Apache-2.0
package org.verbena.hadoop.lustre.buffer;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.StandardOpenOption;
import java.nio.file.attribute.FileTime;
import java.nio.file.attribute.PosixFilePermission;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.EnumSet;
import java.util.Set;
import java.util.UUID;

/** Writes the record of a new file. One thread at a time, but for {@link #touch}. */
final class RecordWriter {
    private static final int TRIES = 10;

    final long inode;
    final String id = UUID.randomUUID().toString();
    private final Records records;
    private final Steps steps;
    private final FileChannel lines;
    private boolean isNew;

    private RecordWriter(Records records, long inode, FileChannel lines, Steps steps) {
        this.records = records;
        this.inode = inode;
        this.lines = lines;
        this.steps = steps;
    }

    /**
     * Begins the record of a file that its writer has open.
     *
     * @param target its name
     * @param inode of the open file
     * @param path for messages
     * @return null: the name has another file meanwhile, or the folder of records is in another file system
     */
    static RecordWriter begin(Records records, Path target, long inode, String path, Steps steps) throws IOException {
        for (int i = 0; i < TRIES; i++) {
            records.make();
            try {
                FileChannel lines = FileChannel.open(records.open(inode),
                    Set.of(StandardOpenOption.CREATE_NEW, StandardOpenOption.WRITE),
                    PosixFilePermissions.asFileAttribute(modeOf(target)));
                RecordWriter writer = new RecordWriter(records, inode, lines, steps);
                steps.at("record made");
                return writer.link(target, path) ? writer : null;
            } catch (FileAlreadyExistsException e) {
                Files.deleteIfExists(records.open(inode)); // of a writer that died here: a file of this inode has no .data (R2)
            } catch (NoSuchFileException e) {
                continue; // a flusher has removed the empty folder
            }
        }
        return null;
    }

    private static Set<PosixFilePermission> modeOf(Path target) throws IOException {
        Set<PosixFilePermission> mode = EnumSet.copyOf(Files.getPosixFilePermissions(target));
        mode.removeAll(Set.of(PosixFilePermission.OWNER_EXECUTE, PosixFilePermission.GROUP_EXECUTE,
            PosixFilePermission.OTHERS_EXECUTE));
        mode.addAll(Set.of(PosixFilePermission.OWNER_READ, PosixFilePermission.OWNER_WRITE));
        return mode;
    }

    private boolean link(Path target, String path) throws IOException {
        append(Record.head(id, Owner.here(), path));
        Path data = records.data(inode);
        try {
            Files.createLink(data, target);
        } catch (IOException | UnsupportedOperationException e) {
            Files.deleteIfExists(records.open(inode));
            lines.close();
            return false;
        }
        steps.at("data linked");
        if (Records.inodeOf(data) == inode) {
            return true;
        }
        Files.deleteIfExists(data); // the name has another file meanwhile
        Files.deleteIfExists(records.open(inode));
        lines.close();
        return false;
    }

    private void append(String line) throws IOException {
        ByteBuffer bytes = ByteBuffer.wrap(line.getBytes(StandardCharsets.UTF_8));
        while (bytes.hasRemaining()) {
            lines.write(bytes);
        }
        isNew = true;
    }

    void add(Chunk chunk) throws IOException {
        append(chunk.line());
        steps.at("chunk recorded");
    }

    /**
     * Acknowledges the lines: the loss of this host does not end them. A flusher that has closed the file has read all lines that
     * were there before.
     */
    void acknowledge() throws IOException {
        if (isNew) {
            lines.force(false);
            isNew = false;
        }
        if (!Files.exists(records.open(inode))) {
            throw lost();
        }
    }

    private IOException lost() {
        return new IOException("its writer gave no sign for longer than verbena.lustre.buffer.lease.s, and a flusher has closed "
            + "the file: write it again, or raise the setting");
    }

    void touch() {
        try {
            Files.setLastModifiedTime(records.open(inode), FileTime.fromMillis(System.currentTimeMillis()));
        } catch (IOException e) {
            return; // the next check tells
        }
    }

    void close(long length) throws IOException {
        append(Record.end(length, System.currentTimeMillis()));
        acknowledge();
        lines.close();
        steps.at("end recorded");
        try {
            Files.move(records.open(inode), records.closed(inode), StandardCopyOption.ATOMIC_MOVE);
        } catch (NoSuchFileException e) {
            throw lost();
        }
        steps.at("closed");
    }

    void abandon() throws IOException {
        lines.close();
    }
}
