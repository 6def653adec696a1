// SPDX-License-Identifier: Apache-2.0
package org.verbena.spark.read;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.nio.file.Path;
import java.util.Arrays;
import java.util.Map;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.apache.spark.network.buffer.ManagedBuffer;
import org.apache.spark.network.shuffle.BlockFetchingListener;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** An executor whose JVM has no direct memory left for the blocks that it asked for. */
@Timeout(120)
class NoRoomTest {
    private static final int BLOCKS = 12;
    private static final int SIZE = 8 << 20;

    /** A JVM of its own: its direct memory has room for some of the blocks, which it keeps. */
    static final class Program {
        private static final Queue<ManagedBuffer> KEPT = new ConcurrentLinkedQueue<>();

        public static void main(String[] arguments) throws Exception {
            Semaphore came = new Semaphore(0);
            AtomicInteger ours = new AtomicInteger();
            try (Executors executors = new Executors(Map.of("spark.verbena.transport", "tcp"))) {
                Executors.One client = executors.start("client");
                int[] sizes = new int[BLOCKS];
                Arrays.fill(sizes, SIZE);
                Executors.One server = executors.start("server");
                server.write(1, 0, sizes);
                server.write(2, 0, 1);
                FetchProgram.connect(client, "server", "shuffle_2_0_0");
                for (int i = 0; i < BLOCKS; i++) {
                    client.client.fetch("host", 1, "server", new String[] {"shuffle_1_0_" + i}, keeping(came, ours), null);
                }
                boolean all = came.tryAcquire(BLOCKS, 60, TimeUnit.SECONDS);
                System.out.println(all + ", some by the core: " + (ours.get() > 0) + ", all: " + (ours.get() == BLOCKS));
            }
            System.exit(0); // whatever threads are left
        }

        private static BlockFetchingListener keeping(Semaphore came, AtomicInteger ours) {
            return new BlockFetchingListener() {
                @Override
                public void onBlockFetchSuccess(String block, ManagedBuffer data) {
                    KEPT.add(data.retain());
                    ours.addAndGet(data.size() == SIZE ? 1 : 0);
                    came.release();
                }

                @Override
                public void onBlockFetchFailure(String block, Throwable error) {
                    // no permit
                }
            };
        }
    }

    @Test
    void blocksForWhichThereIsNoMemoryComeBySparksTransport() throws Exception {
        Process process = new ProcessBuilder(Path.of(System.getProperty("java.home"), "bin", "java").toString(),
            "-XX:MaxDirectMemorySize=40m", "-Dio.netty.maxDirectMemory=0", "-cp", System.getProperty("java.class.path"),
            Program.class.getName()).redirectError(ProcessBuilder.Redirect.INHERIT).start();
        String said = new String(process.getInputStream().readAllBytes());
        assertEquals("true, some by the core: true, all: false\n", said);
        assertEquals(0, process.waitFor());
    }
}
