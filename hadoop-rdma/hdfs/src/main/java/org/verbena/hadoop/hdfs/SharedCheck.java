// SPDX-License-Identifier: Apache-2.0
// What the doctor says of the shared path of mode hhh-l.
package org.verbena.hadoop.hdfs;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.stream.Stream;
import org.verbena.core.plugin.Finding.Level;
import org.verbena.core.plugin.HostReport;
import org.verbena.core.plugin.PluginSetting;
import org.verbena.hadoop.hdfs.settings.SharedConf;
import org.verbena.hadoop.hdfs.shared.SharedPath;

/** Looks at the folder as a DataNode of this host does, and tries what ownership needs. */
final class SharedCheck {
    private static final String WHAT = "shared path: ";

    private SharedCheck() {
    }

    static void look(SharedConf settings, HostReport report) {
        try {
            Path folder = SharedPath.of(settings.dir());
            String kind = Files.getFileStore(folder).type();
            String text = WHAT + folder + " has " + (Files.getFileStore(folder).getUsableSpace() >> 20)
                + " MiB free, its file system is " + kind + ", ";
            SharedPath.tryRename(folder);
            if (SharedPath.isLocal(kind)) {
                report.add(Level.WARN, text + "of this host alone: set " + PluginSetting.HDFS_SHARED_DIR
                    + " to a folder that all DataNodes mount");
            } else {
                report.add(Level.OK, text + volumes(folder) + " volumes of DataNodes are there");
            }
            if (kind.equals("lustre") && !hasCommand()) {
                report.add(Level.WARN, WHAT + "this host has no command lfs, so blocks keep the layout of " + folder
                    + "; install Lustre's client tools, or run: lfs setstripe -c " + settings.stripes() + " " + folder);
            }
        } catch (IOException | RuntimeException e) {
            report.add(Level.BAD, WHAT + (e.getMessage() == null ? e.toString() : e.getMessage()));
        }
    }

    private static boolean hasCommand() {
        return Stream.of(System.getenv().getOrDefault("PATH", "").split(":"))
            .anyMatch(place -> Files.isExecutable(Path.of(place, "lfs")));
    }

    /** Below the folders of clusters. */
    private static long volumes(Path folder) throws IOException {
        try (Stream<Path> inside = Files.find(folder, 2, (path, attributes) -> attributes.isDirectory()
                && path.getNameCount() == folder.getNameCount() + 2 && !path.getFileName().toString().startsWith("."))) {
            return inside.count();
        }
    }
}
