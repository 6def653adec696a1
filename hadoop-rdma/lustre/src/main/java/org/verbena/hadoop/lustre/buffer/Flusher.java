// SPDX-License-Identifier: Apache-2.0
package org.verbena.hadoop.lustre.buffer;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;

/** Flushes all files of a root. Several processes may do so at once, on several hosts; each may be killed at any time. */
public final class Flusher {
    private final Buffer buffer;
    private final Records records;

    /** Of a buffer. */
    public Flusher(Buffer buffer) {
        this.buffer = buffer;
        records = buffer.records;
    }

    /**
     * The outcome of a pass.
     *
     * @param left files that are in the buffer still
     * @param problems a line for each file that cannot be flushed, with the cause
     * @param notes lines about what stays behind on this host, though files are flushed
     */
    public record Pass(int left, List<String> problems, List<String> notes) {
    }

    /** Looks at each file once. */
    public Pass pass() throws IOException {
        List<String> problems = new ArrayList<>();
        for (long inode : inodes()) {
            try {
                endSilentWriter(inode);
                buffer.flush(inode);
            } catch (IOException e) {
                problems.add(e.getMessage() == null ? e.toString() : e.getMessage());
            } catch (RuntimeException e) { // the others go on
                problems.add("the file of inode " + inode + " cannot be flushed: " + e);
            }
        }
        List<String> notes = buffer.local.sweep(records);
        int left = inodes().size();
        if (left == 0) {
            removeFolder();
        }
        return new Pass(left, List.copyOf(problems), notes);
    }

    /** A line for each file that is flushed after its writer's close, or after the writer's death. */
    public List<String> awaited() throws IOException {
        List<String> lines = new ArrayList<>();
        for (long inode : inodes()) {
            try {
                lines.add(Record.read(records.open(inode)).path() + " waits for its writer to close it; a writer of another host "
                    + "that gives no sign for " + buffer.conf.leaseMs() / 1000
                    + " s (verbena.lustre.buffer.lease.s) counts as dead");
            } catch (NoSuchFileException e) {
                continue; // closed
            }
        }
        return lines;
    }

    /** A writer that has ended, or gives no sign, is dead: its file has the length that its record says. */
    private void endSilentWriter(long inode) throws IOException {
        try {
            Path open = records.open(inode);
            if (Owner.hasEnded(Record.read(open).owner()) || buffer.silence.isOver(open)) {
                Files.move(open, records.closed(inode), StandardCopyOption.ATOMIC_MOVE);
                buffer.steps.at("closed for its writer");
            }
        } catch (NoSuchFileException e) {
            return; // closed
        }
    }

    private Set<Long> inodes() throws IOException {
        Set<Long> found = new TreeSet<>();
        try {
            List<Path> all = Listing.of(records.folder());
            buffer.silence.keep(all);
            for (Path file : all) {
                String[] name = file.getFileName().toString().split("\\.");
                if (name.length > 0) {
                    Listing.inode(name[0]).ifPresent(found::add);
                }
                if (name.length > 2) {
                    removeOld(file); // of a process that died while it took a claim
                }
            }
        } catch (NoSuchFileException e) {
            records.expectRoot();
            return Set.of();
        } catch (IOException e) {
            throw new IOException(records.folder() + " cannot be listed (" + e + "): run the flusher as root or as the user of the "
                + "files, and look at the shared file system; nothing is flushed until then", e);
        }
        return found;
    }

    private void removeOld(Path file) {
        try {
            if (buffer.silence.isOver(file)) {
                Files.deleteIfExists(file);
            }
        } catch (IOException e) {
            return; // it has gone, or it is another user's, whose flusher removes it
        }
    }

    private void removeFolder() {
        try {
            Files.deleteIfExists(records.folder());
        } catch (IOException e) {
            return; // a new file is in it, or it is another user's
        }
    }
}
