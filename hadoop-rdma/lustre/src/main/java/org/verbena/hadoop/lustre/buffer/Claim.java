// SPDX-License-Identifier: Apache-2.0
package org.verbena.hadoop.lustre.buffer;

import java.io.IOException;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.StandardOpenOption;
import java.nio.file.attribute.FileTime;
import java.util.UUID;

/**
 * A file that says which process flushes another one: only one writes at a time. It is taken from a process of this host that has
 * ended, and from one of another host that did not touch it for the lease ({@link Silence}). A flusher that was stopped for longer
 * writes the same bytes to the same places once more, so claims save work, and keep flushers away from a file that is to be cut.
 */
final class Claim implements AutoCloseable {
    private final Path file;
    private final String text;

    private Claim(Path file, String text) {
        this.file = file;
        this.text = text;
    }

    private static String host() throws IOException {
        return Files.readString(Path.of("/proc/sys/kernel/hostname")).strip();
    }

    private static long startOf(ProcessHandle process) {
        return process.info().startInstant().map(java.time.Instant::toEpochMilli).orElse(0L);
    }

    /** Null: another process has it. */
    static Claim take(Path file, Silence silence) throws IOException {
        ProcessHandle me = ProcessHandle.current();
        String text = UUID.randomUUID() + " " + host() + " " + me.pid() + " " + startOf(me);
        for (int i = 0; i < 2; i++) {
            try {
                Path whole = Files.writeString(file.resolveSibling(file.getFileName() + "." + UUID.randomUUID()), text,
                    StandardOpenOption.CREATE_NEW);
                try {
                    Files.createLink(file, whole); // with its text from the first moment on
                } finally {
                    Files.delete(whole);
                }
                return new Claim(file, text);
            } catch (FileAlreadyExistsException e) {
                if (!removeStale(file, silence)) {
                    return null;
                }
            }
        }
        return null;
    }

    private static boolean removeStale(Path file, Silence silence) throws IOException {
        try {
            String other = Files.readString(file);
            if (!isStale(other.split(" "), file, silence)) {
                return false;
            }
            Path aside = file.resolveSibling(file.getFileName() + "." + UUID.randomUUID());
            Files.move(file, aside, StandardCopyOption.ATOMIC_MOVE);
            if (!Files.readString(aside).equals(other)) { // another process was faster, and this is its claim
                Files.move(aside, file, StandardCopyOption.ATOMIC_MOVE);
                return false;
            }
            Files.delete(aside);
        } catch (NoSuchFileException e) {
            return true;
        }
        return true;
    }

    private static boolean isStale(String[] words, Path file, Silence silence) throws IOException {
        if (words.length != 4 || !words[2].matches("[0-9]{1,18}")) {
            return true;
        }
        if (words[1].equals(host())) {
            return ProcessHandle.of(Long.parseLong(words[2])).filter(ProcessHandle::isAlive)
                .map(process -> !words[3].equals(Long.toString(startOf(process)))).orElse(true);
        }
        return silence.isOver(file);
    }

    /** False: another process has taken it. */
    boolean keep() throws IOException {
        try {
            if (Files.readString(file).equals(text)) {
                Files.setLastModifiedTime(file, FileTime.fromMillis(System.currentTimeMillis()));
                return true;
            }
        } catch (NoSuchFileException e) {
            return false;
        }
        return false;
    }

    /** Gives it back, if it is still this process's. */
    @Override
    public void close() throws IOException {
        if (keep()) {
            Files.deleteIfExists(file);
        }
    }
}
