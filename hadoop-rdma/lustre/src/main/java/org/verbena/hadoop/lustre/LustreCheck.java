// SPDX-License-Identifier: Apache-2.0
// What the doctor says of lustre:.
package org.verbena.hadoop.lustre;

import java.io.IOException;
import java.nio.channels.FileChannel;
import java.nio.channels.FileLock;
import java.nio.file.FileStore;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.StandardOpenOption;
import java.util.List;
import java.util.Set;
import org.apache.hadoop.conf.Configuration;
import org.verbena.core.plugin.Finding.Level;
import org.verbena.core.plugin.HostReport;
import org.verbena.core.plugin.PluginSetting;
import org.verbena.hadoop.lustre.buffer.BufferCheck;

/** Tries on the root itself what the file system builds on, in a folder that it deletes again. */
public final class LustreCheck {
    private static final String SCHEME = LustreFileSystem.SCHEME + ":";
    private static final String TEMPORARY = ".verbena-doctor-";
    private static final Set<String> OF_ONE_HOST =
        Set.of("ext2", "ext3", "ext4", "xfs", "btrfs", "zfs", "tmpfs", "ramfs", "overlay", "f2fs");
    private static final String UNSAFE = "two clients that rename files to one name may both succeed, and the burst buffer "
        + "is off; use a file system with hard links";
    private static final String LOCAL_FOLDERS = "yarn.nodemanager.local-dirs";
    private static final String A_FOLDER_EACH = "name a folder for each host, such as ROOT/yarn/${env.HOSTNAME}";
    /** The file of a NodeManager's local folder with the name of the host that uses it. */
    public static final String HOST = "verbena-host";

    private final Configuration conf;
    private final String host;
    private final HostReport report;

    private LustreCheck(Configuration conf, String host, HostReport report) {
        this.conf = conf;
        this.host = host;
        this.report = report;
    }

    /** Whether paths without a scheme are those of lustre:. */
    public static boolean isDefault(Configuration conf) {
        return conf.getTrimmed("fs.defaultFS", "").startsWith(SCHEME);
    }

    /** Looks, if any setting of lustre: is there; says nothing otherwise. */
    public static void run(Configuration conf, HostReport report) {
        run(conf, ThisHost.name(), report);
    }

    /** host: the name of this one. */
    static void run(Configuration conf, String host, HostReport report) {
        if (conf.get(PluginSetting.LUSTRE_ROOT.key()) == null && conf.get("fs.lustre.impl") == null && !isDefault(conf)) {
            return;
        }
        LustreCheck check = new LustreCheck(conf, host, report);
        check.named("fs.lustre.impl", LustreFileSystem.class, "clients do not know lustre:");
        check.named("fs.AbstractFileSystem.lustre.impl", LustreFs.class, "YARN does not know lustre:");
        try {
            LustreConf settings = LustreConf.of(conf);
            BufferCheck.run(settings.buffer(), check.root(settings), report);
        } catch (IllegalArgumentException e) {
            report.add(Level.BAD, e.getMessage());
        }
    }

    /** Looks at the root; null: it is not there. */
    private Path root(LustreConf settings) {
        try {
            Path root = new SharedRoot(settings).path();
            store(root);
            tries(root);
            tool(settings);
            localFolders(root);
            return root;
        } catch (IOException e) {
            report.add(Level.BAD, e.getMessage());
            return null;
        }
    }

    private void named(String key, Class<?> ours, String otherwise) {
        boolean right = conf.getTrimmed(key, "").equals(ours.getName());
        report.add(right ? Level.OK : Level.BAD, right ? key + " names " + ours.getSimpleName()
            : key + " is " + conf.getTrimmed(key, "not set") + ": " + otherwise + "; set it in core-site.xml to " + ours.getName());
    }

    private void store(Path root) throws IOException {
        FileStore store = Files.getFileStore(root);
        String text = SCHEME + " root " + root + ": its file system is " + store.type() + " with " + (store.getUsableSpace() >> 30)
            + " GiB free";
        if (OF_ONE_HOST.contains(store.type())) {
            report.add(Level.WARN, text + ", which other hosts do not share: is the shared file system mounted?");
        } else if (store.type().startsWith("nfs")) {
            report.add(Level.WARN, text + ", whose clients keep names and sizes for seconds: other hosts find new files late; "
                + "mount it with noac, or use a coherent file system");
        } else {
            report.add(Level.OK, text);
        }
    }

    private void tries(Path root) {
        Path folder = null;
        try {
            folder = Files.createTempDirectory(root, TEMPORARY);
            Path file = Files.writeString(folder.resolve("file"), "text");
            links(file);
            inodes(file);
            locks(file);
        } catch (IOException | UnsupportedOperationException e) {
            report.add(Level.WARN, SCHEME + " root " + root + " cannot be tried by this user: " + e
                + "; run the doctor as a user who may write there, or give the root mode 1777");
        } finally {
            remove(folder);
        }
    }

    private static void remove(Path folder) {
        try {
            if (folder != null) {
                Removal.run(folder);
            }
        } catch (IOException e) {
            folder.toFile().deleteOnExit();
        }
    }

    private void links(Path file) throws IOException {
        Files.createSymbolicLink(file.resolveSibling("symbolic"), Path.of("file"));
        try {
            Path other = Files.createLink(file.resolveSibling("link"), file);
            boolean same = Files.isSameFile(file, other) && (Integer) Files.getAttribute(file, "unix:nlink") == 2;
            report.add(same ? Level.OK : Level.WARN, same ? SCHEME + " links: hard and symbolic ones work"
                : SCHEME + " links: a hard link is another file: " + UNSAFE);
        } catch (IOException | UnsupportedOperationException e) {
            report.add(Level.WARN, SCHEME + " links: no hard links (" + e.getMessage() + "): " + UNSAFE);
        }
    }

    private void inodes(Path file) throws IOException {
        Object before = Files.getAttribute(file, "unix:ino");
        Path moved = Files.move(file, file.resolveSibling("moved"), StandardCopyOption.ATOMIC_MOVE);
        boolean stays = before.equals(Files.getAttribute(moved, "unix:ino"));
        report.add(stays ? Level.OK : Level.WARN, stays ? SCHEME + " inodes: a renamed file keeps its own"
            : SCHEME + " inodes: a renamed file gets another one: entity tags and handles of files change with a rename");
        Files.move(moved, file, StandardCopyOption.ATOMIC_MOVE);
    }

    private void locks(Path file) {
        try (FileChannel channel = FileChannel.open(file, StandardOpenOption.WRITE); FileLock lock = channel.tryLock()) {
            report.add(Level.OK, SCHEME + " locks: fcntl locks work" + (lock == null ? ", and this one is held" : "")
                + "; lustre: needs none");
        } catch (IOException e) {
            report.add(Level.OK, SCHEME + " locks: none (" + e.getMessage() + "); lustre: needs none; other programs may need the "
                + "mount option flock");
        }
    }

    private void tool(LustreConf settings) throws IOException {
        LfsTool lfs = LfsTool.find(settings.lfs());
        boolean wanted = settings.stripeSize() > 0 || settings.stripeCount() > 0;
        report.add(lfs.isThere() || !wanted ? Level.OK : Level.WARN, SCHEME + " lfs: " + (lfs.isThere() ? "tells and sets layouts"
            : "not used, " + lfs.reason() + (wanted ? ": new files get the stripes of their folders" : "")));
    }

    private void localFolders(Path root) throws IOException {
        List<String> folders = List.of(conf.getTrimmedStrings(LOCAL_FOLDERS));
        int shared = 0;
        for (String folder : folders) {
            if (folder.contains("${")) {
                report.add(Level.WARN, LOCAL_FOLDERS + " is " + folder + ": the variable is not set for the doctor; NodeManagers "
                    + "that lack it too share this folder and delete each other's files; export it in yarn-env.sh");
            }
            Path path = Path.of(new org.apache.hadoop.fs.Path(folder).toUri().getPath());
            if (path.isAbsolute() && real(path).startsWith(root)) {
                shared++;
                sharedFolder(path, root.relativize(real(path)).toString());
            }
        }
        report.add(Level.OK, "map outputs: " + shared + " of " + folders.size() + " local folders (" + LOCAL_FOLDERS
            + ") lie on the shared file system");
    }

    /** Links followed, as far as the folder is there: a NodeManager makes the rest. */
    private static Path real(Path folder) throws IOException {
        Path known = folder;
        while (!Files.exists(known)) {
            known = known.getParent();
        }
        return known.toRealPath().resolve(known.relativize(folder));
    }

    /**
     * A NodeManager deletes what it does not know in its local folder.
     *
     * @param name of the folder below the root
     */
    private void sharedFolder(Path folder, String name) throws IOException {
        Path record = folder.resolve(HOST);
        String other = Files.isReadable(record) ? Files.readString(record).strip() : host;
        if (!ThisHost.isSame(other, host)) {
            report.add(Level.WARN, LOCAL_FOLDERS + ": the NodeManager of " + other + " has used " + folder + ", and this host is "
                + host + ": two NodeManagers in one folder delete each other's files; " + A_FOLDER_EACH);
        } else if (!conf.getRaw(LOCAL_FOLDERS).contains("${env.") && !ThisHost.isIn(name, host)) {
            report.add(Level.WARN, LOCAL_FOLDERS + ": " + folder + " has not the name of this host: NodeManagers with the same "
                + "file would share it, and delete each other's files; " + A_FOLDER_EACH);
        }
    }
}
