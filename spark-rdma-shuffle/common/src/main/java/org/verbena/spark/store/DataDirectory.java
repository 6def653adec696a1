// SPDX-License-Identifier: Apache-2.0
// The private directory of one executor's slabs, and the removal of what dead executors left.
package org.verbena.spark.store;

import java.io.IOException;
import java.nio.channels.FileChannel;
import java.nio.channels.FileLock;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.StandardOpenOption;
import java.nio.file.attribute.PosixFilePermissions;
import java.time.Instant;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * {@code /dev/shm/verbena-UID/APPLICATION/NAME/} of mode 0700; the name is that of the executor's block manager directory,
 * by which the other executors of the host find it. In it is a lock file whose lock the kernel gives up with the process,
 * however that ends. Whoever starts later removes directories whose lock is free; those of its own application a while
 * later, because reduce tasks that run may read them, as they may read the files of an executor that died. A lock file's
 * name tells the process that made it, because opening a lock file of one's own process would drop the lock.
 */
public final class DataDirectory implements AutoCloseable {
    private static final Logger LOG = LoggerFactory.getLogger(DataDirectory.class);
    private static final String LOCK = "lock-";
    private static final long DYING_NANOS = 3_000_000_000L; // that a killed executor's memory takes to be freed
    private static final long KEPT_MILLIS = 30_000; // that reduce tasks may read what a dead executor has left
    private static final int TRIES = 1000;
    private static final String OWN_LOCK = LOCK + ProcessHandle.current().pid() + "-"
        + ProcessHandle.current().info().startInstant().map(Instant::toEpochMilli).orElse(0L);

    private final Path path;
    private final FileChannel lockChannel;
    private final Thread hook;

    private DataDirectory(Path path, FileChannel lockChannel) {
        this.path = path;
        this.lockChannel = lockChannel;
        this.hook = new Thread(() -> remove(path), "verbena-cleanup");
    }

    /**
     * Removes what the dead left and makes a new directory.
     *
     * @param root directory on tmpfs, usually /dev/shm
     * @param application Spark's application id
     * @param name of the executor's first block manager directory
     */
    public static DataDirectory create(Path root, String application, String name) throws IOException {
        return create(root, application, name, KEPT_MILLIS);
    }

    /** Removes after so many milliseconds what the dead of this application left. */
    static DataDirectory create(Path root, String application, String name, long keptMillis) throws IOException {
        Path mine = privateDirectory(root.resolve("verbena-" + userId()));
        Path siblings = mine.resolve(safe(application));
        clean(mine, siblings);
        if (Files.isDirectory(siblings)) {
            cleanLater(siblings, keptMillis);
        }
        Path path = newDirectory(mine.resolve(safe(application)), safe(name));
        // Whoever finds a lock file by its name that nobody has locked removes the directory: so it gets that name locked.
        Path unnamed = path.resolve("new-" + OWN_LOCK);
        FileChannel channel = FileChannel.open(unnamed, StandardOpenOption.CREATE_NEW, StandardOpenOption.WRITE);
        FileLock lock = channel.tryLock();
        if (lock == null) {
            channel.close();
            throw new IOException("cannot lock " + unnamed + ": another process holds it");
        }
        Files.move(unnamed, path.resolve(OWN_LOCK), StandardCopyOption.ATOMIC_MOVE);
        DataDirectory directory = new DataDirectory(path, channel);
        Runtime.getRuntime().addShutdownHook(directory.hook);
        return directory;
    }

    /** Whoever cleans up removes an application's directory that is empty, perhaps the one that was made just now. */
    private static Path newDirectory(Path application, String name) throws IOException {
        for (int left = TRIES; ; left--) {
            try {
                return privateDirectory(privateDirectory(application).resolve(name));
            } catch (java.nio.file.NoSuchFileException e) {
                if (left == 0) {
                    throw e;
                }
            }
        }
    }

    /**
     * Finds the directory of another executor of this host and user.
     *
     * @param name of that executor's first block manager directory
     * @return null when there is none
     * @throws IOException when there is something else
     */
    static Path find(Path root, String application, String name) throws IOException {
        Path mine = root.resolve("verbena-" + userId());
        Path app = mine.resolve(safe(application));
        Path path = app.resolve(safe(name));
        if (!Files.exists(path, LinkOption.NOFOLLOW_LINKS)) {
            return null;
        }
        check(mine);
        check(app);
        return check(path);
    }

    /** The directory. */
    public Path path() {
        return path;
    }

    /** How many executors of the application have such a directory on this host, this one included. */
    public int executors() {
        String[] names = path.getParent().toFile().list();
        return names == null ? 1 : Math.max(1, names.length);
    }

    /** User id of this process. */
    static int userId() throws IOException {
        return (Integer) Files.getAttribute(Path.of("/proc/self"), "unix:uid");
    }

    private static String safe(String name) {
        String text = name.replaceAll("[^A-Za-z0-9_.-]", "_");
        return text.startsWith(".") ? "_" + text : text;
    }

    /** Makes a directory of mode 0700, or checks an existing one. */
    private static Path privateDirectory(Path path) throws IOException {
        if (!Files.exists(path, LinkOption.NOFOLLOW_LINKS)) {
            try {
                Files.createDirectory(path,
                    PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString("rwx------")));
            } catch (java.nio.file.FileAlreadyExistsException e) {
                LOG.debug("{} was made by another executor meanwhile", path);
            }
        }
        return check(path);
    }

    /** Gives the directory back if it is ours, of mode 0700 and no link. */
    private static Path check(Path path) throws IOException {
        boolean directory = Files.isDirectory(path, LinkOption.NOFOLLOW_LINKS);
        int owner = (Integer) Files.getAttribute(path, "unix:uid", LinkOption.NOFOLLOW_LINKS);
        String mode = PosixFilePermissions.toString(Files.getPosixFilePermissions(path, LinkOption.NOFOLLOW_LINKS));
        if (!directory || owner != userId() || !mode.equals("rwx------")) {
            throw new IOException(path + " is not a directory of mode 0700 owned by this user; remove it");
        }
        return path;
    }

    private static void cleanLater(Path application, long millis) throws IOException {
        try (DirectoryStream<Path> executors = Files.newDirectoryStream(application, DataDirectory::isDead)) {
            if (!executors.iterator().hasNext()) {
                return;
            }
        } catch (java.nio.file.NoSuchFileException e) {
            return;
        }
        Thread thread = new Thread(() -> {
            try {
                Thread.sleep(millis);
                cleanApplication(application);
            } catch (IOException e) {
                LOG.debug("cannot look for what dead executors left: {}", e.toString());
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
            }
        }, "verbena-clean");
        thread.setDaemon(true);
        thread.start();
    }

    /**
     * Removes directories of dead executors below the user's directory; returns how many.
     *
     * @param kept an application whose directories stay; null for none
     */
    static int clean(Path userDirectory, Path kept) throws IOException {
        int removed = 0;
        try (DirectoryStream<Path> applications = Files.newDirectoryStream(userDirectory)) {
            for (Path application : applications) {
                if (!application.equals(kept) && Files.isDirectory(application, LinkOption.NOFOLLOW_LINKS)) {
                    removed += cleanApplication(application);
                }
            }
        }
        return removed;
    }

    private static int cleanApplication(Path application) throws IOException {
        int removed = 0;
        try (DirectoryStream<Path> executors = Files.newDirectoryStream(application)) {
            for (Path executor : executors) {
                if (isDead(executor)) {
                    delete(executor);
                    LOG.info("removed {} of an executor that died", executor);
                    removed++;
                }
            }
        } catch (java.nio.file.NoSuchFileException e) {
            return removed;
        }
        // Fails, as it should, while another executor has its directory there.
        application.toFile().delete();
        return removed;
    }

    /** Dead: it has a lock file of another process and nobody holds the lock. */
    private static boolean isDead(Path executor) {
        try (DirectoryStream<Path> locks = Files.newDirectoryStream(executor, LOCK + "*")) {
            for (Path lock : locks) {
                if (lock.getFileName().toString().equals(OWN_LOCK)) {
                    return false;
                }
                // Shared, so that two who look at the same moment do not take each other for the owner.
                try (FileChannel channel = FileChannel.open(lock, StandardOpenOption.READ);
                        FileLock held = channel.tryLock(0, Long.MAX_VALUE, true)) {
                    return held != null;
                }
            }
            // No lock file yet: just made, or half removed; the latter is old.
            long age = System.currentTimeMillis() - Files.getLastModifiedTime(executor).toMillis();
            return age > 60_000;
        } catch (IOException e) {
            return false;
        }
    }

    /** Removes an own directory; the last one of the application what executors left that were killed meanwhile. */
    private static void remove(Path own) {
        delete(own);
        try {
            if (hasLiving(own.getParent())) {
                clean(own.getParent().getParent(), own.getParent());
                return;
            }
            clean(own.getParent().getParent(), null);
            long deadline = System.nanoTime() + DYING_NANOS;
            while (hasDying(own.getParent()) && System.nanoTime() < deadline) {
                Thread.sleep(20);
                cleanApplication(own.getParent());
            }
        } catch (IOException e) {
            LOG.debug("cannot look for what dead executors left: {}", e.toString());
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    /** Whether an executor of the application goes on, whose tasks may read what dead ones left. */
    private static boolean hasLiving(Path application) throws IOException {
        try (DirectoryStream<Path> executors = Files.newDirectoryStream(application,
                path -> !isDead(path) && !isOfDying(path))) {
            return executors.iterator().hasNext();
        } catch (java.nio.file.NoSuchFileException e) {
            return false;
        }
    }

    /** An executor of the application was killed just now: the kernel frees its memory and only then its lock. */
    private static boolean hasDying(Path application) throws IOException {
        try (DirectoryStream<Path> executors = Files.newDirectoryStream(application, DataDirectory::isOfDying)) {
            return executors.iterator().hasNext();
        } catch (java.nio.file.NoSuchFileException e) {
            return false; // somebody else was quicker
        }
    }

    private static boolean isOfDying(Path executor) {
        try (DirectoryStream<Path> locks = Files.newDirectoryStream(executor, LOCK + "*")) {
            for (Path lock : locks) {
                if (isDying(lock.getFileName().toString().substring(LOCK.length()).split("-")[0])) {
                    return true;
                }
            }
            return false;
        } catch (IOException e) {
            return false; // no directory, or somebody else was quicker
        }
    }

    /** A process without a command line has given its memory up. */
    static boolean isDying(String pid) {
        try {
            return Files.readAllBytes(Path.of("/proc", pid, "cmdline")).length == 0;
        } catch (IOException e) {
            return false;
        }
    }

    private static void delete(Path directory) {
        try (DirectoryStream<Path> entries = Files.newDirectoryStream(directory)) {
            for (Path entry : entries) {
                Files.deleteIfExists(entry);
            }
            Files.deleteIfExists(directory);
        } catch (java.nio.file.NoSuchFileException e) {
            LOG.debug("{} is gone already", directory);
        } catch (IOException e) {
            LOG.warn("cannot remove {}: {}", directory, e.toString());
        }
        directory.getParent().toFile().delete();
    }

    /** Removes the directory with all that is in it. */
    @Override
    public void close() throws IOException {
        remove(path);
        lockChannel.close();
        try {
            Runtime.getRuntime().removeShutdownHook(hook);
        } catch (IllegalStateException e) {
            LOG.debug("the process is ending");
        }
    }
}
