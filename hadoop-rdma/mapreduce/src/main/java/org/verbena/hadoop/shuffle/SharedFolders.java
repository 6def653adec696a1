// SPDX-License-Identifier: Apache-2.0
// Which of a NodeManager's local folders lie on the file system that all hosts share.
package org.verbena.hadoop.shuffle;

import java.io.File;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.security.SecureRandom;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.List;
import org.apache.hadoop.conf.Configuration;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.verbena.hadoop.lustre.LustreCheck;
import org.verbena.hadoop.lustre.LustreConf;
import org.verbena.hadoop.lustre.ThisHost;

/**
 * Each of them has a file with a random mark. A reducer that finds the same mark below its own root sees the same folder, wherever
 * the two hosts have mounted it. Immutable.
 */
final class SharedFolders {
    /** The file with the mark. */
    static final String FILE = "verbena-shared";
    private static final Logger LOG = LoggerFactory.getLogger(SharedFolders.class);
    private static final int TRIES = 10;

    private final List<Path> folders = new ArrayList<>();
    private final List<Wire.Folder> announced = new ArrayList<>();

    /** @param local the node's local folders */
    SharedFolders(Configuration conf, List<String> local) {
        try {
            Path root = LustreConf.of(conf).root();
            for (String folder : root == null ? List.<String>of() : local) {
                add(root.toRealPath(), Path.of(folder));
            }
        } catch (IOException | IllegalArgumentException e) {
            LOG.warn("Verbena: reducers do not read map outputs from the shared file system: {}", e.toString());
        }
    }

    private void add(Path root, Path folder) throws IOException {
        if (!Files.isDirectory(folder) || !folder.toRealPath().startsWith(root)) {
            return;
        }
        String name = root.relativize(folder.toRealPath()).toString();
        if (folders.size() == WirePlaces.MAX_FOLDERS || name.getBytes(StandardCharsets.UTF_8).length > WirePlaces.MAX_FOLDER_NAME) {
            LOG.warn("Verbena: reducers do not read map outputs in {}: a node announces {} folders with names of {} bytes at most",
                folder, WirePlaces.MAX_FOLDERS, WirePlaces.MAX_FOLDER_NAME);
            return;
        }
        announced.add(new Wire.Folder(mark(folder), name));
        folders.add(folder);
        String other = takeOver(folder, ThisHost.name());
        if (other != null) {
            LOG.warn("Verbena: {} was used by the NodeManager of {} before: if that one still runs, stop one of them, because each "
                + "deletes the other one's files; {} names a folder for each host", folder, other, NodeSite.FOLDERS);
        }
    }

    /** Which other host used a local folder before this one; null when none did. */
    static String takeOver(Path folder, String host) throws IOException {
        Path record = folder.resolve(LustreCheck.HOST);
        String before = Files.exists(record) ? Files.readString(record).strip() : host;
        Files.writeString(record, host);
        return ThisHost.isSame(before, host) ? null : before;
    }

    /** The folder's mark, which is made if there is none: whole at once, under a name that only one can take. */
    private static String mark(Path folder) throws IOException {
        Path file = folder.resolve(FILE);
        for (int i = 0; !Files.exists(file); i++) {
            byte[] random = new byte[Wire.MARK_BYTES];
            new SecureRandom().nextBytes(random);
            String text = HexFormat.of().formatHex(random);
            Path fresh = Files.writeString(folder.resolve(FILE + "-" + text), text);
            Files.setPosixFilePermissions(fresh, PosixFilePermissions.fromString("rw-r--r--"));
            try {
                Files.createLink(file, fresh);
            } catch (FileAlreadyExistsException e) {
                LOG.debug("another process has made the mark");
            } catch (UnsupportedOperationException | IOException e) {
                if (i == TRIES) {
                    throw new IOException(folder + " has no hard links (" + e + "): use a file system with hard links, or set "
                        + "verbena.shuffle.source to core", e);
                }
            } finally {
                Files.deleteIfExists(fresh);
            }
        }
        String mark = Files.readString(file).strip();
        if (!mark.matches("[0-9a-f]{" + 2 * Wire.MARK_BYTES + "}")) {
            throw new IOException(file + " has no mark: delete it, and restart the NodeManager");
        }
        return mark;
    }

    /** All of them, in the order of their numbers. */
    List<Wire.Folder> announced() {
        return announced;
    }

    /** Where a map output lies; null when it is in none of them. */
    Wire.Place place(File file, long offset) {
        Path path = file.toPath();
        for (int i = 0; i < folders.size(); i++) {
            if (path.startsWith(folders.get(i))) {
                return new Wire.Place(announced.get(i), folders.get(i).relativize(path).toString(), offset);
            }
        }
        return null;
    }
}
