// SPDX-License-Identifier: Apache-2.0
// The folder that all DataNodes mount.
package org.verbena.hadoop.hdfs.shared;

import java.io.IOException;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.FileStore;
import java.nio.file.FileSystemException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.attribute.PosixFilePermission;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.Locale;
import java.util.Set;
import org.verbena.core.plugin.PluginSetting;
import org.verbena.hadoop.hdfs.memory.PrivateFolder;

/** Finds out what stands in the way, and says how to mend it. */
public final class SharedPath {
    private static final String KEY = PluginSetting.HDFS_SHARED_DIR.key();
    /** File systems of one host, by the names that the kernel gives them. */
    private static final Set<String> LOCAL = Set.of("ext2", "ext3", "ext4", "xfs", "btrfs", "zfs", "tmpfs", "ramfs", "overlay");

    private SharedPath() {
    }

    /**
     * The folder of a setting.
     *
     * @throws IOException when it is not usable, with the cure
     */
    public static Path of(String setting) throws IOException {
        if (setting.isEmpty()) {
            throw new IOException(KEY + " is not set; set it to a folder that all DataNodes mount");
        }
        Path folder = Path.of(setting).toAbsolutePath();
        if (!Files.isDirectory(folder)) {
            throw new IOException(KEY + "=" + folder + ": there is no such folder; mount its file system on this host, then make "
                + "the folder as the user of the DataNodes");
        }
        if (!Files.isWritable(folder)) {
            String user = System.getProperty("user.name");
            throw new IOException(KEY + "=" + folder + ": user " + user + " may not write there; run: chown " + user + " "
                + folder);
        }
        return folder;
    }

    /**
     * Tries what ownership needs: an exclusive create, and a folder that gets another name.
     *
     * @throws IOException when the file system cannot do it
     */
    public static void tryRename(Path shared) throws IOException {
        Path folder = Files.createTempDirectory(shared, ".try-");
        Path renamed = folder.resolveSibling(folder.getFileName() + "-renamed");
        try {
            Path file = Files.createFile(folder.resolve("file"));
            try {
                Files.createFile(file);
                throw new IOException(KEY + "=" + shared + ": the file system made the same file twice, so nobody can own a volume "
                    + "there; use another file system");
            } catch (FileAlreadyExistsException e) {
                Files.delete(file);
            }
            Files.move(folder, renamed, StandardCopyOption.ATOMIC_MOVE);
        } finally {
            Files.deleteIfExists(renamed);
            Files.deleteIfExists(folder);
        }
    }

    /** The folder of a cluster's volumes below it, which is this user's alone, whatever the umask is. */
    static Path ofCluster(Path shared, String cluster) throws IOException {
        Path folder = shared.resolve(cluster);
        if (!Files.exists(folder)) {
            try {
                make(folder);
            } catch (FileAlreadyExistsException e) {
                return ofCluster(shared, cluster); // another DataNode was faster
            }
        }
        PrivateFolder.check(folder);
        return folder;
    }

    /** Makes a folder for this user alone, and none above it: where nothing is mounted there is none. */
    static Path make(Path folder) throws IOException {
        Set<PosixFilePermission> alone = PosixFilePermissions.fromString("rwx------");
        Files.createDirectory(folder, PosixFilePermissions.asFileAttribute(alone));
        return Files.setPosixFilePermissions(folder, alone); // a umask may have taken the owner's own rights
    }

    /**
     * What kind of file system it is.
     *
     * @return its name, and a warning where it is one of this host alone
     */
    public static String kind(Path folder) throws IOException {
        FileStore store = Files.getFileStore(folder);
        return store.type() + (isLocal(store.type()) ? ", of this host alone: DataNodes of other hosts cannot adopt its volumes"
            : "");
    }

    /** Whether a file system is one that other hosts do not see. */
    public static boolean isLocal(String type) {
        return LOCAL.contains(type);
    }

    /** What to do about a fault of the path, by the text of the kernel. */
    static String cure(IOException fault, Path folder) {
        String text = fault instanceof FileSystemException detailed && detailed.getReason() != null ? detailed.getReason()
            : String.valueOf(fault.getMessage());
        String lower = text.toLowerCase(Locale.ROOT);
        if (lower.contains("quota")) {
            return "raise the quota (lfs quota -u " + System.getProperty("user.name") + " " + folder
                + " shows it), or delete files";
        } else if (lower.contains("no space")) {
            return "delete files, or lower " + PluginSetting.HDFS_SHARED_SIZE;
        } else if (lower.contains("denied") || lower.contains("not permitted")) {
            return "the folder and all below it have to belong to user " + System.getProperty("user.name");
        } else if (lower.contains("stale") || lower.contains("no such file")) {
            return "look whether the file system is still mounted on this host";
        }
        return "look at the kernel's log of this host, and at the file system's servers";
    }
}
