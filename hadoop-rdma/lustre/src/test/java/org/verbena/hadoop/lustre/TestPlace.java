// SPDX-License-Identifier: Apache-2.0
// A folder that plays the shared one, and clients of it.
package org.verbena.hadoop.lustre;

import static java.nio.charset.StandardCharsets.UTF_8;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FSDataInputStream;
import org.apache.hadoop.fs.FSDataOutputStream;
import org.apache.hadoop.fs.FileSystem;

/** Each client has a file system object of its own. */
final class TestPlace {
    final Path root;
    final Configuration conf = new Configuration(false);

    TestPlace(Path folder) throws IOException {
        root = Files.createDirectory(folder.resolve("root"));
        conf.set("fs.lustre.impl", LustreFileSystem.class.getName());
        conf.set("fs.AbstractFileSystem.lustre.impl", LustreFs.class.getName());
        conf.set("fs.lustre.impl.disable.cache", "true");
        conf.set("fs.defaultFS", "lustre:///");
        conf.set("verbena.lustre.root", root.toString());
        conf.set("verbena.lustre.lfs", "off");
    }

    FileSystem client() throws IOException {
        return FileSystem.get(conf);
    }

    static org.apache.hadoop.fs.Path path(String name) {
        return new org.apache.hadoop.fs.Path(name);
    }

    static void write(FileSystem client, String name, String text) throws IOException {
        try (FSDataOutputStream out = client.create(path(name), true)) {
            out.write(text.getBytes(UTF_8));
        }
    }

    static String read(FileSystem client, String name) throws IOException {
        try (FSDataInputStream in = client.open(path(name))) {
            return new String(in.readAllBytes(), UTF_8);
        }
    }

    /** A program that plays lfs. */
    static String script(Path folder, String text) throws IOException {
        Path program = folder.resolve("lfs");
        Files.writeString(program, "#!/bin/sh\n" + text);
        Files.setPosixFilePermissions(program, PosixFilePermissions.fromString("rwxr-xr-x"));
        return program.toString();
    }
}
