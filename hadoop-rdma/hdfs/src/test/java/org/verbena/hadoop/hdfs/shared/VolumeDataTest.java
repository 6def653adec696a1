// SPDX-License-Identifier: Apache-2.0
// What a new owner makes of a volume's data.
package org.verbena.hadoop.hdfs.shared;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.io.IOException;
import java.io.OutputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class VolumeDataTest {
    @TempDir
    Path place;

    private Path writing() throws IOException {
        return Files.createDirectories(place.resolve("data.2/current/BP-1/current/rbw"));
    }

    private void prepare() throws IOException {
        VolumeData.prepare(place.resolve("data.2"), "second", place.resolve("lock"));
    }

    private static List<String> names(Path folder) throws IOException {
        try (var names = Files.list(folder)) {
            return names.map(name -> name.getFileName().toString()).sorted().toList();
        }
    }

    @Test
    void what_the_former_owner_writes_to_open_files_is_not_in_those_of_the_new_one() throws Exception {
        Path block = Files.writeString(writing().resolve("blk_5"), "flushed");
        try (OutputStream open = Files.newOutputStream(block, StandardOpenOption.APPEND)) {
            prepare();
            open.write("late".getBytes());
        }
        assertEquals("flushed", Files.readString(block));
    }

    @Test
    void copies_that_an_owner_did_not_end_are_gone_and_replicas_are_whole() throws Exception {
        Path folder = writing();
        for (String name : List.of("blk_5", "blk_5_1001.meta")) {
            Files.writeString(folder.resolve(name), "whole " + name);
            Files.writeString(folder.resolve(name + ".copy"), "a part");
        }
        Files.writeString(folder.resolve("blk_6.copy"), "a part of a block that is deleted");
        prepare();
        assertEquals(List.of("blk_5", "blk_5_1001.meta"), names(folder));
        assertEquals("whole blk_5", Files.readString(folder.resolve("blk_5")));
    }
}
