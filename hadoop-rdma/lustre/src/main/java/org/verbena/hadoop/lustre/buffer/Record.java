// SPDX-License-Identifier: Apache-2.0
package org.verbena.hadoop.lustre.buffer;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

/**
 * What the shared directory knows of a file in the buffer, at one moment: lines that its writer has appended.
 *
 * <pre>
 * verbena-buffer 2 ID OWNER PATH     first line; the process that writes the file; the path that it had when it was made
 * c NUMBER OFFSET LENGTH CRC         a chunk that a server has
 * end LENGTH MILLISECONDS            last line of a closed file: its length, and its time of modification
 * </pre>
 *
 * Bytes between the chunks are in the shared file. A last line without its end belongs to a writer that died, and counts as absent.
 *
 * @param id of the file, random: no other file has it, also after a deletion
 * @param owner the process that writes it ({@link Owner})
 * @param path that it had when it was made
 * @param chunks by their offset
 * @param length of a closed file; -1: its writer did not say
 * @param modified milliseconds; -1: its writer did not say
 */
record Record(String id, String owner, String path, List<Chunk> chunks, long length, long modified) {
    private static final String MARK = "verbena-buffer 2 ";
    private static final String END = "end";

    static String head(String id, String owner, String path) {
        return MARK + id + " " + owner + " " + path.replace('\n', ' ') + "\n";
    }

    static String end(long length, long modified) {
        return END + " " + length + " " + modified + "\n";
    }

    static Record read(Path file) throws IOException {
        String[] lines = Files.readString(file, StandardCharsets.UTF_8).split("\n", -1);
        if (lines.length < 2 || !lines[0].startsWith(MARK)) {
            if (lines.length < 2) {
                return new Record("", "", "", List.of(), -1, -1); // its writer died while it began
            }
            throw Records.damaged(file, null);
        }
        String[] head = lines[0].substring(MARK.length()).split(" ", 3);
        if (head.length < 3) {
            throw Records.damaged(file, null);
        }
        List<Chunk> chunks = new ArrayList<>();
        long length = -1;
        long modified = -1;
        for (int i = 1; i < lines.length - 1; i++) { // behind the last line break is nothing, or half a line
            String[] words = lines[i].split(" ");
            try {
                if (words[0].equals(END) && words.length == 3) {
                    length = Long.parseLong(words[1]);
                    modified = Long.parseLong(words[2]);
                } else {
                    chunks.add(java.util.Objects.requireNonNull(Chunk.of(words)));
                }
            } catch (RuntimeException e) {
                throw Records.damaged(file, e);
            }
        }
        return new Record(head[0], head[1], head[2], List.copyOf(chunks), length, modified);
    }

    /** The first byte behind all chunks. */
    long end() {
        return chunks.isEmpty() ? 0 : chunks.get(chunks.size() - 1).end();
    }

    /** Index of the chunk with a byte, or of the next one after it as -1 - index. */
    int find(long offset) {
        int low = 0;
        int high = chunks.size();
        while (low < high) {
            int middle = (low + high) / 2;
            Chunk chunk = chunks.get(middle);
            if (offset >= chunk.end()) {
                low = middle + 1;
            } else if (offset < chunk.offset()) {
                high = middle;
            } else {
                return middle;
            }
        }
        return -1 - low;
    }
}
