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
 * A file that says which process flushes another one: only one writes at a time. It is taken from a process that has surely ended
 * ({@link Owner}), and from one of which this process knows nothing and that did not touch it for the lease ({@link Silence}). A
 * flusher that was stopped for longer writes the same bytes to the same places once more, so claims save work, and keep flushers
 * away from a file that is to be cut.
 */
final class Claim implements AutoCloseable {
    private final Path file;
    private final String text;

    private Claim(Path file, String text) {
        this.file = file;
        this.text = text;
    }

    /** Null: another process has it. */
    static Claim take(Path file, Silence silence) throws IOException {
        String text = UUID.randomUUID() + " " + Owner.here();
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
            if (!isStale(other, file, silence)) {
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

    private static boolean isStale(String text, Path file, Silence silence) throws IOException {
        String owner = text.substring(text.indexOf(' ') + 1);
        return Owner.isKnown(owner) ? Owner.hasEnded(owner) : silence.isOver(file);
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
