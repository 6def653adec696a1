// SPDX-License-Identifier: Apache-2.0
// Finds and removes the directories that dead executors left.
package org.verbena.spark.store;

import java.io.IOException;
import java.nio.channels.FileChannel;
import java.nio.channels.FileLock;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.time.Instant;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * An executor is dead when nobody holds the lock of the lock file in its directory. A lock file's name tells the process
 * that made it, because opening a lock file of one's own process would drop the lock.
 */
final class DeadExecutors {
    private static final Logger LOG = LoggerFactory.getLogger(DeadExecutors.class);
    private static final String LOCK = "lock-";
    static final long DYING_NANOS = 3_000_000_000L; // that a killed executor's memory takes to be freed
    private static final long MADE_MILLIS = 60_000; // that the making of a directory may take
    /** Name of the lock file of this process. */
    static final String OWN_LOCK = LOCK + ProcessHandle.current().pid() + "-"
        + ProcessHandle.current().info().startInstant().map(Instant::toEpochMilli).orElse(0L);

    private DeadExecutors() {
    }

    /** Removes after so many milliseconds what the dead of an application left, whose reduce tasks may read it until then. */
    static void cleanLater(Path application, long millis) throws IOException {
        try (DirectoryStream<Path> executors = Files.newDirectoryStream(application, DeadExecutors::isDead)) {
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
                LOG.debug("cannot look for files that dead executors left: {}", e.toString());
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

    /** Whether its making is over. */
    static boolean hasLock(Path executor) {
        try (DirectoryStream<Path> locks = Files.newDirectoryStream(executor, LOCK + "*")) {
            return locks.iterator().hasNext();
        } catch (IOException e) {
            return false; // somebody was quicker
        }
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
            return age > MADE_MILLIS;
        } catch (IOException e) {
            return false;
        }
    }

    /** Removes an own directory; the last one of the application what executors left that were killed meanwhile. */
    static void remove(Path own) {
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
            LOG.debug("cannot look for files that dead executors left: {}", e.toString());
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
        try (DirectoryStream<Path> executors = Files.newDirectoryStream(application, DeadExecutors::isOfDying)) {
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
}
