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
import java.util.Set;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.locks.LockSupport;
import java.util.function.ToIntFunction;
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

    /** Run in a process of its own: the same with a keeper; ends when its input does. */
    public static final class Kept {
        public static void main(String[] arguments) throws Exception {
            DataDirectory directory = DataDirectory.create(Path.of(arguments[0]), "app-1", "7");
            directory.keep(Long.parseLong(arguments[1]));
            System.out.println(directory.path());
            System.out.println(ProcessHandle.current().children().findFirst().orElseThrow().pid());
            while (System.in.read() >= 0) {
                Thread.onSpinWait();
            }
        }
    }

    /** Run in a process of its own: removes what the dead left, again and again, until it is killed. */
    public static final class Cleaner {
        public static void main(String[] arguments) throws Exception {
            Path user = Path.of(arguments[0], "verbena-" + PrivateFolder.userId());
            System.out.println("started");
            while (true) {
                DeadExecutors.clean(user, null);
            }
        }
    }

    private Process startOwner() throws IOException {
        return start(Owner.class);
    }

    private Process start(Class<?> program) throws IOException {
        return start(program, 0);
    }

    private Process start(Class<?> program, long seconds) throws IOException {
        return new ProcessBuilder(Path.of(System.getProperty("java.home"), "bin", "java").toString(), "-cp",
            System.getProperty("java.class.path"), program.getName(), root.toString(), Long.toString(seconds))
            .redirectError(ProcessBuilder.Redirect.DISCARD).start();
    }

    /** Executors of a host start at the same moment, and each looks for what the dead left. */
    @Test
    void aDirectoryThatIsJustBeingMadeIsNotTakenForThatOfADeadExecutor() throws Exception {
        DataDirectory.create(root, "app-0", "0").close();
        Process cleaner = start(Cleaner.class);
        try {
            assertEquals("started", cleaner.inputReader().readLine());
            for (int i = 0; i < 2000; i++) {
                try (DataDirectory own = DataDirectory.create(root, "app-1", "name-" + i)) {
                    assertTrue(Files.isDirectory(own.path()), "directory " + i);
                }
            }
            assertTrue(cleaner.isAlive());
        } finally {
            cleaner.destroyForcibly();
        }
    }

    /** Its memory is gone, its lock perhaps not yet. */
    @Test
    void whoeverClosesWaitsForOneThatIsDying() throws Exception {
        DataDirectory own = DataDirectory.create(root, "app-1", "1");
        Process process = startOwner();
        Path other = Path.of(process.inputReader().readLine());
        String pid = Long.toString(process.pid());
        assertFalse(DeadExecutors.isDying(pid));
        process.destroyForcibly();
        while (process.isAlive() && !DeadExecutors.isDying(pid)) {
            Thread.onSpinWait(); // ended by the test's time-out
        }
        long start = System.nanoTime();
        own.close();
        boolean waited = System.nanoTime() - start >= DeadExecutors.DYING_NANOS; // on a loaded machine it may die for longer
        assertTrue(waited || !Files.exists(other));
        assertTrue(process.waitFor(60, TimeUnit.SECONDS));
        assertFalse(DeadExecutors.isDying(pid), "there is no such process");
    }

    @Test
    void whoeverCleansMeanwhileDoesNotHinderANewDirectory() throws Exception {
        Path user = Files.createDirectory(root.resolve("verbena-" + PrivateFolder.userId()),
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
                assertEquals(1, DeadExecutors.clean(other.getParent().getParent(), null));
                assertFalse(Files.exists(other));
                assertTrue(Files.exists(own.path()));
            }
        } finally {
            process.destroyForcibly();
        }
    }

    /** Reduce tasks that run go on reading, as they do with the files of an executor that died. */
    @Test
    void whatAKilledExecutorOfTheSameApplicationLeftIsRemovedAWhileAfterAnotherOneHasStarted() throws Exception {
        Process process = startOwner();
        try {
            Path other = Path.of(process.inputReader().readLine());
            Files.createFile(other.resolve("slab-0"));
            process.destroyForcibly();
            assertTrue(process.waitFor(30, TimeUnit.SECONDS));
            DataDirectory.create(root, "app-2", "1").close(); // of another application, whose end removes it
            assertFalse(Files.exists(other));
        } finally {
            process.destroyForcibly();
        }
        process = startOwner();
        try {
            Path other = Path.of(process.inputReader().readLine());
            process.destroyForcibly();
            assertTrue(process.waitFor(30, TimeUnit.SECONDS));
            try (DataDirectory living = DataDirectory.create(root, "app-1", "1", Set.of(), 3_600_000)) {
                DataDirectory.create(root, "app-1", "2", Set.of(), 3_600_000).close();
                assertTrue(Files.exists(other), "while one of the application lives");
                try (DataDirectory next = DataDirectory.create(root, "app-1", "3", Set.of(), 100)) {
                    while (Files.exists(other)) {
                        Thread.onSpinWait(); // ended by the test's time-out
                    }
                    assertTrue(Files.exists(living.path()) && Files.exists(next.path()));
                }
            }
        } finally {
            process.destroyForcibly();
        }
    }

    @Test
    void theMemoryOfAKilledProcessGoesAlthoughNobodyElseStarts() throws Exception {
        Process process = start(Kept.class, 1);
        try {
            Path kept = Path.of(process.inputReader().readLine());
            Files.createFile(kept.resolve("slab-0"));
            Files.createSymbolicLink(kept.resolve("m-1-2"), Path.of("0:0:64:1"));
            process.destroyForcibly();
            while (Files.exists(kept.getParent())) {
                Thread.sleep(10); // ended by the test's time-out
            }
        } finally {
            process.destroyForcibly();
        }
    }

    @Test
    void aProcessThatEndsLeavesNoKeeper() throws Exception {
        Process process = start(Kept.class, 3600);
        try {
            Path kept = Path.of(process.inputReader().readLine());
            long keeper = Long.parseLong(process.inputReader().readLine());
            assertTrue(ProcessHandle.of(keeper).isPresent());
            process.outputWriter().close();
            assertEquals(0, process.waitFor());
            assertFalse(Files.exists(kept));
            while (ProcessHandle.of(keeper).isPresent()) {
                Thread.sleep(10); // ended by the test's time-out
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
        Path bad = Files.createDirectory(root.resolve("verbena-" + PrivateFolder.userId()));
        Files.setPosixFilePermissions(bad, PosixFilePermissions.fromString("rwxr-xr-x"));
        assertThrows(IOException.class, () -> DataDirectory.create(root, "app", "1"));
    }

    @Test
    void namesCannotLeadOutOfTheDirectory() throws IOException {
        try (DataDirectory directory = DataDirectory.create(root, "../../evil", "..")) {
            assertTrue(directory.path().normalize().startsWith(root.resolve("verbena-" + PrivateFolder.userId())));
        }
    }

    @Test
    void executorsAreCountedForEachLimitThatTheyAreBelow() throws IOException {
        try (DataDirectory own = DataDirectory.create(root, "app", "1", Set.of("pod", "host"));
                DataDirectory same = DataDirectory.create(root, "app", "2", Set.of("pod", "host"));
                DataDirectory other = DataDirectory.create(root, "app", "3", Set.of("other pod", "host"));
                DataDirectory elsewhere = DataDirectory.create(root, "app-2", "1", Set.of("pod", "host"))) {
            ToIntFunction<String> executors = own.executors();
            assertEquals(2, executors.applyAsInt("pod"));
            assertEquals(1, executors.applyAsInt("other pod"));
            assertEquals(3, executors.applyAsInt("host"));
            same.close();
            assertEquals(1, own.executors().applyAsInt("pod"));
            assertEquals(1, elsewhere.executors().applyAsInt("host"));
            other.close();
            assertEquals(1, own.executors().applyAsInt("host"));
        }
    }

    /** Those of another version of this plugin, or of what is no text at all: below every limit. */
    @Test
    void anExecutorThatDoesNotSayItsLimitsCountsForEachOnceItsDirectoryIsMade() throws IOException {
        try (DataDirectory own = DataDirectory.create(root, "app", "1", Set.of("pod"))) {
            Path older = Files.createDirectory(own.path().resolveSibling("2"));
            assertEquals(1, own.executors().applyAsInt("pod"), "it is being made");
            Files.createFile(older.resolve("lock-1-2"));
            assertEquals(2, own.executors().applyAsInt("pod"));
            Files.write(older.resolve(SharedLimits.FILE), new byte[] {(byte) 0xff, 0, '\n', (byte) 0xc0});
            assertEquals(2, own.executors().applyAsInt("pod"));
            Files.writeString(older.resolve(SharedLimits.FILE), "host\n");
            assertEquals(1, own.executors().applyAsInt("pod"));
            Files.createFile(own.path().resolveSibling("a file"));
            assertEquals(1, own.executors().applyAsInt("pod"));
            Files.delete(own.path().resolveSibling("a file"));
            Files.delete(older.resolve(SharedLimits.FILE));
            Files.delete(older.resolve("lock-1-2"));
            Files.delete(older);
        }
    }
}
