// SPDX-License-Identifier: Apache-2.0
// The private directory of one executor's slabs.
package org.verbena.spark.store;

import java.io.IOException;
import java.nio.channels.FileChannel;
import java.nio.channels.FileLock;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.StandardOpenOption;
import java.util.Set;
import java.util.function.ToIntFunction;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * {@code /dev/shm/verbena-UID/APPLICATION/NAME/} of mode 0700; the name is that of the executor's block manager directory,
 * by which the other executors of the host find it. In it is a lock file whose lock the kernel gives up with the process,
 * however that ends. A {@link Keeper} removes the directory of a process that was killed; where there is none any more, whoever
 * starts later removes directories whose lock is free ({@link DeadExecutors}). Those of a running application go a while later,
 * because reduce tasks may read them, as they may read the files of an executor that died.
 */
public final class DataDirectory implements AutoCloseable {
    private static final Logger LOG = LoggerFactory.getLogger(DataDirectory.class);
    private static final long KEPT_SECONDS = 30; // that reduce tasks may read what a dead executor has left
    private static final int TRIES = 1000;

    private final Path path;
    private final FileChannel lockChannel;
    private final Thread hook;
    private volatile Keeper keeper;

    private DataDirectory(Path path, FileChannel lockChannel) {
        this.path = path;
        this.lockChannel = lockChannel;
        this.hook = new Thread(this::remove, "verbena-cleanup");
    }

    /**
     * Removes what the dead left and makes a new directory, of an executor below no memory limit.
     *
     * @param root directory on tmpfs, usually /dev/shm
     * @param application Spark's application id
     * @param name of the executor's first block manager directory
     */
    public static DataDirectory create(Path root, String application, String name) throws IOException {
        return create(root, application, name, Set.of());
    }

    /**
     * Removes what the dead left and makes a new directory.
     *
     * @param root directory on tmpfs, usually /dev/shm
     * @param application Spark's application id
     * @param name of the executor's first block manager directory
     * @param holders of the memory limits that this executor is below, which the others learn
     */
    public static DataDirectory create(Path root, String application, String name, Set<String> holders) throws IOException {
        return create(root, application, name, holders, 1000 * KEPT_SECONDS);
    }

    /** Removes after so many milliseconds what the dead of this application left. */
    static DataDirectory create(Path root, String application, String name, Set<String> holders, long keptMillis)
            throws IOException {
        Path mine = PrivateFolder.make(root.resolve("verbena-" + PrivateFolder.userId()));
        Path siblings = mine.resolve(PrivateFolder.safe(application));
        DeadExecutors.clean(mine, siblings);
        if (Files.isDirectory(siblings)) {
            DeadExecutors.cleanLater(siblings, keptMillis);
        }
        Path path = newDirectory(mine.resolve(PrivateFolder.safe(application)), PrivateFolder.safe(name));
        SharedLimits.publish(path, holders);
        // Whoever finds a lock file by its name that nobody has locked removes the directory: so it gets that name locked.
        Path unnamed = path.resolve("new-" + DeadExecutors.OWN_LOCK);
        FileChannel channel = FileChannel.open(unnamed, StandardOpenOption.CREATE_NEW, StandardOpenOption.WRITE);
        FileLock lock = channel.tryLock();
        if (lock == null) {
            channel.close();
            throw new IOException("cannot lock " + unnamed + ": another process holds it");
        }
        Files.move(unnamed, path.resolve(DeadExecutors.OWN_LOCK), StandardCopyOption.ATOMIC_MOVE);
        DataDirectory directory = new DataDirectory(path, channel);
        Runtime.getRuntime().addShutdownHook(directory.hook);
        return directory;
    }

    /** Whoever cleans up removes an application's directory that is empty, perhaps the one that was made just now. */
    private static Path newDirectory(Path application, String name) throws IOException {
        for (int left = TRIES; ; left--) {
            try {
                return PrivateFolder.make(PrivateFolder.make(application).resolve(name));
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
        Path mine = root.resolve("verbena-" + PrivateFolder.userId());
        Path app = mine.resolve(PrivateFolder.safe(application));
        Path path = app.resolve(PrivateFolder.safe(name));
        if (!Files.exists(path, LinkOption.NOFOLLOW_LINKS)) {
            return null;
        }
        PrivateFolder.check(mine);
        PrivateFolder.check(app);
        return PrivateFolder.check(path);
    }

    /** From now on the directory goes also when this process is killed. */
    public void keep() {
        keep(KEPT_SECONDS);
    }

    void keep(long seconds) {
        keeper = Keeper.start(path, seconds);
    }

    private void remove() {
        DeadExecutors.remove(path);
        Keeper other = keeper;
        if (other != null) {
            other.close();
        }
    }

    /** The directory. */
    public Path path() {
        return path;
    }

    /**
     * Counts the executors of the application that have such a directory on this host, this one included.
     *
     * @return how many of them are below the limit that a holder has
     */
    public ToIntFunction<String> executors() {
        return SharedLimits.of(path.getParent())::executors;
    }

    /** Removes the directory with all that is in it. */
    @Override
    public void close() throws IOException {
        remove();
        lockChannel.close();
        try {
            Runtime.getRuntime().removeShutdownHook(hook);
        } catch (IllegalStateException e) {
            LOG.debug("the process is ending");
        }
    }
}
