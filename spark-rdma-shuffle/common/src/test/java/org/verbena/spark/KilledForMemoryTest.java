// SPDX-License-Identifier: Apache-2.0
// A JVM in a real control group that fills its heap and its map outputs is not killed by the kernel.
package org.verbena.spark;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.apache.spark.SparkConf;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.verbena.core.SlabPool;
import org.verbena.core.VbnConfig;
import org.verbena.core.VbnContext;
import org.verbena.spark.store.DataDirectory;

@Timeout(120)
class KilledForMemoryTest {
    private static final Path SHM = Path.of("/dev/shm");
    private static final long LIMIT = 800L << 20;
    /** A quarter of the limit would be too much beside it. */
    private static final String HEAP = "640m";
    private static final int KILLED = 128 + 9;

    /** Joins the group, then fills heap and slabs; an argument is a budget that ignores the container. */
    static final class Program {
        public static void main(String[] arguments) throws Exception {
            System.in.read(); // until this process is in the group
            SlabBudget budget = SlabBudget.here(0, ContainerMemory.here(new SparkConf(false)), 1, SHM);
            long bytes = arguments.length > 1 ? Long.parseLong(arguments[1]) : budget.bytes();
            List<byte[]> heap = new ArrayList<>();
            while (heap.size() < 560) {
                heap.add(new byte[1 << 20]);
            }
            try (DataDirectory directory = DataDirectory.create(SHM, "killed-" + arguments[0], "blockmgr");
                    VbnContext context = VbnContext.open(new VbnConfig().jobKey(new byte[32]))) {
                SlabPool pool = SlabPool.files(context, directory.path(), 1 << 20, bytes);
                List<SlabPool.Chunk> all = new ArrayList<>();
                for (SlabPool.Chunk one = pool.allocate(1 << 20); one != null; one = pool.allocate(1 << 20)) {
                    one.buffer().put(new byte[1 << 20]);
                    all.add(one);
                }
                all.forEach(SlabPool.Chunk::release);
                pool.close();
            }
            System.out.println("alive with " + heap.size() + " MiB of heap");
        }
    }

    /** A new group with the limit below this process's; null where none can be made. */
    private static Path group(String name) throws IOException {
        for (String line : Files.readAllLines(Path.of("/proc/self/cgroup"))) {
            String[] parts = line.split(":", 3);
            boolean unified = parts[1].isEmpty();
            Path mount = Path.of(unified ? "/sys/fs/cgroup" : "/sys/fs/cgroup/memory");
            Path own = mount.resolve(parts[2].substring(1));
            if (!unified && !parts[1].equals("memory") || !Files.isDirectory(own)) {
                continue;
            }
            try {
                Path group = Files.createDirectory((unified ? mount : own).resolve(name));
                Files.writeString(group.resolve(unified ? "memory.max" : "memory.limit_in_bytes"), Long.toString(LIMIT));
                Path swap = group.resolve(unified ? "memory.swap.max" : "memory.memsw.limit_in_bytes");
                if (Files.exists(swap)) { // else a host with swap kills nobody
                    Files.writeString(swap, unified ? "0" : Long.toString(LIMIT));
                }
                return group;
            } catch (IOException e) {
                Files.deleteIfExists(mount.resolve(name)); // not ours to use
                Files.deleteIfExists(own.resolve(name));
            }
        }
        return null;
    }

    private static int run(Path folder, String... arguments) throws Exception {
        Path group = group("verbena-" + arguments[0]);
        assumeTrue(group != null, "needs the right to make a memory control group");
        try {
            List<String> command = new ArrayList<>(List.of(Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                "-Xms" + HEAP, "-Xmx" + HEAP, "-XX:+UseSerialGC", "-cp", System.getProperty("java.class.path"),
                Program.class.getName()));
            command.addAll(List.of(arguments));
            Process process = new ProcessBuilder(command).redirectErrorStream(true)
                .redirectOutput(folder.resolve("said").toFile()).start();
            try {
                Files.writeString(group.resolve("cgroup.procs"), Long.toString(process.pid()));
                process.getOutputStream().close();
                assertEquals(true, process.waitFor(100, TimeUnit.SECONDS), "it ends");
            } finally {
                process.destroyForcibly().waitFor();
            }
            return process.exitValue();
        } finally {
            long deadline = System.nanoTime() + TimeUnit.SECONDS.toNanos(30);
            while (!group.toFile().delete() && System.nanoTime() < deadline) { // processes leave a little after their end
                Thread.onSpinWait();
            }
            DataDirectory.create(SHM, "cleaner-" + arguments[0], "blockmgr").close(); // removes what the killed one left
        }
    }

    @Test
    void theBudgetKeepsTheExecutorBelowItsLimit(@TempDir Path folder) throws Exception {
        int status = run(folder, "fits-" + ProcessHandle.current().pid());
        assertEquals(0, status, Files.readString(folder.resolve("said")));
    }

    /** The kernel does kill here; otherwise the test above would show nothing. */
    @Test
    void aQuarterOfTheLimitBesideTheHeapWouldHaveEndedIt(@TempDir Path folder) throws Exception {
        assertEquals(KILLED, run(folder, "large-" + ProcessHandle.current().pid(), Long.toString(LIMIT / 4)));
    }
}
