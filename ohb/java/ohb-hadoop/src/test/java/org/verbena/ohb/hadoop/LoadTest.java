// SPDX-License-Identifier: Apache-2.0
package org.verbena.ohb.hadoop;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FileSystem;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.function.Executable;
import org.verbena.ohb.hadoop.Load.Cell;

/** The content of files, and the load on Hadoop's local file system. */
class LoadTest {
    private static final Cell CELL = new Cell(2 * Content.PIECE + 77, 2, 1, 3, 42);

    @Test
    void piecesDifferFromEachOtherAndFromThoseOfOtherSeeds() {
        Content content = new Content(7);
        byte[] first = java.util.Arrays.copyOfRange(content.array(), content.start(0), content.start(0) + 4096);
        assertEquals(-1, content.difference(0, first, 4096));
        assertEquals(0, content.difference(Content.PIECE, first, 4096));
        assertEquals(0, new Content(8).difference(0, first, 4096));
        first[4000]++;
        assertEquals(4000, content.difference(0, first, 4096));
    }

    @Test
    void aPieceThatCrossesABoundaryIsCompared() {
        Content content = new Content(9);
        byte[] bytes = new byte[100];
        System.arraycopy(content.array(), content.start(0) + Content.PIECE - 60, bytes, 0, 60);
        System.arraycopy(content.array(), content.start(1), bytes, 60, 40);
        assertEquals(-1, content.difference(Content.PIECE - 60, bytes, 100));
        bytes[60]++;
        assertEquals(60, content.difference(Content.PIECE - 60, bytes, 100));
    }

    @Test
    void whatWasWrittenIsReadAndDamageIsFound(@org.junit.jupiter.api.io.TempDir Path folder) throws IOException {
        Configuration conf = new Configuration();
        conf.set("fs.defaultFS", "file:///");
        FileSystem files = new org.apache.hadoop.fs.RawLocalFileSystem() {
            @Override
            public java.io.File pathToFile(org.apache.hadoop.fs.Path path) {
                return new java.io.File(folder.toFile(), path.toUri().getPath());
            }
        };
        files.initialize(java.net.URI.create("file:///"), conf);
        try (Load load = new Load(files)) {
            assertTrue(load.write(CELL) > 0);
            assertTrue(load.read(CELL) > 0);
            assertTrue(load.positioned(CELL, 10, 4096) > 0);
            assertTrue(load.vectored(CELL, 10, 16, 4096) > 0);
            assertEquals(0, load.takeShortCircuit(), "another file system has no short-circuit reads");
            Path damaged = folder.resolve("ohb/1-1");
            byte[] bytes = Files.readAllBytes(damaged);
            assertEquals(CELL.size(), bytes.length);
            bytes[bytes.length - 1]++;
            Files.write(damaged, bytes);
            for (Executable reads : List.<Executable>of(() -> load.read(CELL),
                () -> load.positioned(CELL, 10, (int) CELL.size()), () -> load.vectored(CELL, 10, 1, (int) CELL.size()))) {
                String text = assertThrows(IOException.class, reads).getMessage();
                assertTrue(text.contains("1-1: byte " + (CELL.size() - 1) + " differs from the one that was written"), text);
            }
            load.delete();
            assertTrue(!Files.exists(folder.resolve("ohb")));
        }
    }
}
