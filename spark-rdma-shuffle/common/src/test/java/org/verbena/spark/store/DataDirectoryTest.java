// SPDX-License-Identifier: Apache-2.0
// What dead executors leave is removed, what living ones use is not.
package org.verbena.spark.store;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.locks.LockSupport;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

@Timeout(300)
class DataDirectoryTest {
    @TempDir
    Path root;

    /** Run in a process of its own: makes a directory, says where, and waits to be killed. */
    public static final class Owner {
        public static void main(String[] arguments) throws Exception {
            System.out.println(DataDirectory.create(Path.of(arguments[0]), "app-1", "7").path());
            Thread.sleep(60_000);
        }
    }

    private Process startOwner() throws IOException {
        return new ProcessBuilder(Path.of(System.getProperty("java.home"), "bin", "java").toString(), "-cp",
            System.getProperty("java.class.path"), Owner.class.getName(), root.toString())
            .redirectError(ProcessBuilder.Redirect.DISCARD).start();
    }

    /** Its memory is gone, its lock perhaps not yet. */
    @Test
    void whoeverClosesWaitsForOneThatIsDying() throws Exception {
        DataDirectory own = DataDirectory.create(root, "app-1", "1");
        Process process = startOwner();
        Path other = Path.of(process.inputReader().readLine());
        String pid = Long.toString(process.pid());
        assertFalse(DataDirectory.isDying(pid));
        process.destroyForcibly();
        while (process.isAlive() && !DataDirectory.isDying(pid)) {
            Thread.onSpinWait(); // ended by the test's time-out
        }
        own.close();
        assertFalse(Files.exists(other));
        assertTrue(process.waitFor(30, TimeUnit.SECONDS));
        assertFalse(DataDirectory.isDying(pid), "there is no such process");
    }

    @Test
    void whoeverCleansMeanwhileDoesNotHinderANewDirectory() throws Exception {
        Path user = Files.createDirectory(root.resolve("verbena-" + DataDirectory.userId()),
            PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString("rwx------")));
        AtomicBoolean done = new AtomicBoolean();
        Path application = user.resolve("app-1");
        Thread other = new Thread(() -> {
            while (!done.get()) {
                application.toFile().delete(); // what cleaning does with the directory of an application
                LockSupport.parkNanos(20_000);
            }
        });
        other.start();
        try {
            for (int i = 0; i < 500; i++) {
                DataDirectory.create(root, "app-1", "1").close();
            }
        } finally {
            done.set(true);
            other.join();
        }
    }

    @Test
    void whoeverClosesRemovesWhatWasKilledMeanwhile() throws Exception {
        DataDirectory own = DataDirectory.create(root, "app-1", "1");
        Process process = startOwner();
        try {
            Path other = Path.of(process.inputReader().readLine());
            process.destroyForcibly();
            assertTrue(process.waitFor(30, TimeUnit.SECONDS));
            own.close();
            assertFalse(Files.exists(other));
        } finally {
            process.destroyForcibly();
        }
    }

    @Test
    void theDirectoryOfAKilledProcessIsRemovedAndThatOfALivingOneStays() throws Exception {
        Process process = startOwner();
        try {
            Path other = Path.of(process.inputReader().readLine());
            Files.createFile(other.resolve("slab-0"));
            try (DataDirectory own = DataDirectory.create(root, "app-2", "1")) {
                assertTrue(Files.exists(other));
                process.destroyForcibly();
                assertTrue(process.waitFor(30, TimeUnit.SECONDS));
                assertEquals(1, DataDirectory.clean(other.getParent().getParent()));
                assertFalse(Files.exists(other));
                assertTrue(Files.exists(own.path()));
            }
        } finally {
            process.destroyForcibly();
        }
    }

    @Test
    void aClosedDirectoryIsGone() throws IOException {
        DataDirectory directory = DataDirectory.create(root, "app", "driver");
        assertEquals("rwx------", PosixFilePermissions.toString(Files.getPosixFilePermissions(directory.path())));
        directory.close();
        assertFalse(Files.exists(directory.path()));
    }

    @Test
    void aDirectoryThatOthersMayEnterIsRefused() throws IOException {
        Path bad = Files.createDirectory(root.resolve("verbena-" + DataDirectory.userId()));
        Files.setPosixFilePermissions(bad, PosixFilePermissions.fromString("rwxr-xr-x"));
        assertThrows(IOException.class, () -> DataDirectory.create(root, "app", "1"));
    }

    @Test
    void namesCannotLeadOutOfTheDirectory() throws IOException {
        try (DataDirectory directory = DataDirectory.create(root, "../../evil", "..")) {
            assertTrue(directory.path().normalize().startsWith(root.resolve("verbena-" + DataDirectory.userId())));
        }
    }
}
