// SPDX-License-Identifier: Apache-2.0
package org.verbena.spark.read;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.lang.ref.Reference;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.IntStream;
import org.apache.spark.network.buffer.ManagedBuffer;
import org.apache.spark.network.shuffle.BlockFetchingListener;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Executors with little direct memory: a half of it takes what comes, an eighth what is copied to be sent. And with enough. */
@Timeout(120)
class NoRoomTest {
    private static final int LITTLE = 40; // MiB
    private static final int BLOCKS = 12;
    private static final int SIZE = 8 << 20;
    private static final int SMALL = 12_000;
    private static final int SMALL_BLOCKS = 1500;
    /** More than the 128 MiB of blocks that any executor may have. */
    private static final int TASKS = 3;
    /** The size with the largest buffer for its bytes: one of 1.25 MiB. */
    private static final int WORST = (1 << 20) + 1024;
    /** Longer than all blocks are waited for. */
    private static final int WAITS = 90;
    private static final int REQUESTS = 5; // as Spark divides maxSizeInFlight

    /** A JVM of its own: its direct memory has room for some of the blocks at a time. */
    static final class Program {
        private final LinkedBlockingQueue<ManagedBuffer> came = new LinkedBlockingQueue<>();
        private final AtomicInteger right = new AtomicInteger();
        private final Semaphore answered = new Semaphore(0);

        public static void main(String[] arguments) throws Exception {
            switch (arguments[0]) {
                case "tasks" -> new Program().holdAll();
                case "larger" -> new Program().fetchLarger();
                default -> new Program().run(arguments[0]);
            }
            System.exit(0); // whatever threads are left
        }

        /** Takes all the direct memory that the JVM has. */
        private static List<ByteBuffer> all() {
            List<ByteBuffer> all = new ArrayList<>();
            int size = 1 << 20;
            while (size > 1 << 10) {
                try {
                    all.add(ByteBuffer.allocateDirect(size));
                } catch (OutOfMemoryError e) {
                    size >>= 1;
                }
            }
            return all;
        }

        private void run(String mode) throws Exception {
            try (Executors executors = new Executors(Map.of("spark.verbena.transport", "tcp"))) {
                if (mode.equals("release")) {
                    executors.patienceSeconds = WAITS; // this thread, which gives memory back, may have no turn for long
                }
                Executors.One client = executors.start("client");
                Executors.One server = executors.start("server");
                server.write(1, 0, sizes(BLOCKS, SIZE));
                server.write(2, 0, 1);
                server.write(3, 0, sizes(SMALL_BLOCKS, SMALL));
                FetchProgram.connect(client, "server", "shuffle_2_0_0");
                List<ByteBuffer> taken = mode.equals("none") ? all() : List.of();
                for (int i = 0; i < BLOCKS; i++) {
                    ask(client, 1, i, i + 1);
                }
                ask(client, 3, 0, SMALL_BLOCKS);
                for (int i = 0; i < BLOCKS + SMALL_BLOCKS && mode.equals("release"); i++) {
                    came.take().release();
                }
                boolean all = answered.tryAcquire(BLOCKS + SMALL_BLOCKS, 60, TimeUnit.SECONDS);
                System.out.println(all + ", some by the core: " + (right.get() > 0) + ", all: "
                    + (right.get() == BLOCKS + SMALL_BLOCKS));
                came.forEach(ManagedBuffer::release);
                server.usedWithout(1);
                server.usedWithout(2);
                while (server.usedWithout(3) > 0) { // an output is unpinned a little later than its last block comes
                    Thread.onSpinWait();
                }
                System.out.println("nothing is pinned");
                Reference.reachabilityFence(taken);
            }
        }

        /** Tasks that ask for all they may have in flight, and read none of it until all of it is here. */
        private void holdAll() throws Exception {
            try (Executors executors = new Executors(Map.of("spark.verbena.transport", "tcp"))) {
                executors.tasks = TASKS;
                executors.patienceSeconds = WAITS; // who has to wait in vain is seen before
                Executors.One client = executors.start("client");
                Executors.One server = executors.start("server");
                int request = Executors.IN_FLIGHT / REQUESTS / WORST;
                int blocks = TASKS * REQUESTS * request;
                server.write(1, 0, sizes(blocks, WORST));
                server.write(2, 0, 1);
                FetchProgram.connect(client, "server", "shuffle_2_0_0");
                for (int i = 0; i < blocks; i += request) {
                    ask(client, 1, i, i + request);
                }
                boolean all = answered.tryAcquire(blocks, 60, TimeUnit.SECONDS);
                System.out.println(all + ", by the core: " + (right.get() == blocks));
                came.forEach(ManagedBuffer::release);
                while (server.usedWithout(1) + server.usedWithout(2) > 0) {
                    Thread.onSpinWait();
                }
                System.out.println("nothing is pinned");
            }
        }

        /** A block for which there can never be memory, and then others. */
        private void fetchLarger() throws Exception {
            try (Executors executors = new Executors(Map.of("spark.verbena.transport", "tcp"))) {
                Executors.One client = executors.start("client");
                Executors.One server = executors.start("server");
                server.write(1, 0, sizes(1, LITTLE << 19));
                server.write(2, 0, 1);
                server.write(3, 0, sizes(BLOCKS, SMALL));
                FetchProgram.connect(client, "server", "shuffle_2_0_0");
                ask(client, 1, 0, 1);
                boolean first = answered.tryAcquire(60, TimeUnit.SECONDS);
                System.out.println(first + ", by the core: " + right.get());
                ask(client, 3, 0, BLOCKS);
                boolean rest = answered.tryAcquire(BLOCKS, 60, TimeUnit.SECONDS);
                System.out.println(rest + ", by the core: " + (right.get() == BLOCKS));
                came.forEach(ManagedBuffer::release);
                while (server.usedWithout(1) + server.usedWithout(2) + server.usedWithout(3) > 0) {
                    Thread.onSpinWait();
                }
                System.out.println("nothing is pinned");
            }
        }

        private static int[] sizes(int count, int size) {
            int[] sizes = new int[count];
            Arrays.fill(sizes, size);
            return sizes;
        }

        private void ask(Executors.One client, int shuffle, int from, int to) {
            String[] names = IntStream.range(from, to).mapToObj(i -> "shuffle_" + shuffle + "_0_" + i).toArray(String[]::new);
            client.client.fetch("host", 1, "server", names, new BlockFetchingListener() {
                @Override
                public void onBlockFetchSuccess(String block, ManagedBuffer data) {
                    came.add(data.retain());
                    right.addAndGet(data.size() > 4 ? 1 : 0);
                    answered.release();
                }

                @Override
                public void onBlockFetchFailure(String block, Throwable error) {
                    // no permit
                }
            }, null);
        }
    }

    private static void assertSays(String expected, String mode, int direct, Path folder) throws Exception {
        Path said = folder.resolve("said");
        Process process = new ProcessBuilder(Path.of(System.getProperty("java.home"), "bin", "java").toString(),
            "-XX:MaxDirectMemorySize=" + direct + "m", "-Dio.netty.maxDirectMemory=0", "-cp", System.getProperty("java.class.path"),
            Program.class.getName(), mode).redirectError(ProcessBuilder.Redirect.INHERIT)
            .redirectOutput(said.toFile()).start();
        try {
            assertTrue(process.waitFor(100, TimeUnit.SECONDS), "the program has not ended");
        } finally {
            process.destroyForcibly();
        }
        assertEquals(expected + "\nnothing is pinned\n", Files.readString(said));
        assertEquals(0, process.exitValue());
    }

    @Test
    void blocksForWhichNoMemoryComesFreeComeBySparksTransport(@TempDir Path folder) throws Exception {
        assertSays("true, some by the core: true, all: false", "keep", LITTLE, folder);
    }

    @Test
    void blocksForWhichThereIsNoMemoryYetWaitForTasksThatReadThoseBefore(@TempDir Path folder) throws Exception {
        assertSays("true, some by the core: true, all: true", "release", LITTLE, folder);
    }

    /** What waits comes by Spark's transport here, because nothing is read. */
    @Test
    void tasksThatHaveAllInFlightThatSparkLetsThemWaitForNoMemory(@TempDir Path folder) throws Exception {
        assertSays("true, by the core: true", "tasks", 1024, folder);
    }

    @Test
    void aBlockThatIsLargerThanTheMemoryComesBySparksTransportAndOthersDoNot(@TempDir Path folder) throws Exception {
        assertSays("true, by the core: 0\ntrue, by the core: true", "larger", LITTLE, folder);
    }

    @Test
    void aJvmWithoutAnyDirectMemoryFetchesBySparksTransport(@TempDir Path folder) throws Exception {
        assertSays("true, some by the core: false, all: false", "none", LITTLE, folder);
    }
}
