// SPDX-License-Identifier: Apache-2.0
// What a request costs the executor that serves it: native calls, Java allocations and copies, for each block.
package org.verbena.spark.read;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.sun.management.ThreadMXBean;
import java.lang.management.BufferPoolMXBean;
import java.lang.management.ManagementFactory;
import java.util.Arrays;
import java.util.Map;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import org.apache.spark.network.buffer.ManagedBuffer;
import org.apache.spark.network.shuffle.BlockFetchingListener;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.verbena.spark.metrics.Traffic;

@Timeout(200)
class ServingCostTest {
    private static final int REQUESTS = 100;
    private static final int BLOCKS = 200; // of a request

    /** What one request cost on average. */
    private record Cost(double polls, double allocated) {
    }

    private static Thread thread(String name) {
        return Thread.getAllStackTraces().keySet().stream().filter(one -> one.getName().equals(name)).findFirst()
            .orElseThrow();
    }

    private static void fetch(Executors.One by, String from, String[] blocks) throws InterruptedException {
        Semaphore came = new Semaphore(0);
        by.client.fetch("host", 1, from, blocks, new BlockFetchingListener() {
            @Override
            public void onBlockFetchSuccess(String block, ManagedBuffer data) {
                came.release();
            }

            @Override
            public void onBlockFetchFailure(String block, Throwable error) {
                // no permit
            }
        }, null);
        assertTrue(came.tryAcquire(blocks.length, 60, TimeUnit.SECONDS), "blocks");
    }

    private static String[] blocks(int shuffle, int count) {
        String[] names = new String[count];
        for (int i = 0; i < count; i++) {
            names[i] = "shuffle_" + shuffle + "_0_" + i;
        }
        return names;
    }

    private static Cost cost(Executors.One client, Executors.One server, String[] blocks) throws InterruptedException {
        ThreadMXBean threads = (ThreadMXBean) ManagementFactory.getThreadMXBean();
        long engine = thread("server").getId();
        for (int i = 0; i < REQUESTS; i++) {
            fetch(client, "server", blocks);
        }
        long polls = server.context.counters().get("java.polls");
        long allocated = threads.getThreadAllocatedBytes(engine);
        for (int i = 0; i < REQUESTS; i++) {
            fetch(client, "server", blocks);
        }
        return new Cost((server.context.counters().get("java.polls") - polls) / (double) REQUESTS,
            (threads.getThreadAllocatedBytes(engine) - allocated) / (double) REQUESTS);
    }

    private static int[] sizes(int size) {
        int[] sizes = new int[BLOCKS];
        Arrays.fill(sizes, size);
        return sizes;
    }

    @Test
    void nativeCallsAreThoseOfARequestAndNotOfItsBlocks() throws Exception {
        // An engine that does not spin calls native code only when there is something to do, or to sleep.
        Map<String, String> settings =
            Map.of("spark.verbena.transport", "tcp", "spark.verbena.core.progress.spin", "0");
        try (Executors executors = new Executors(settings)) {
            Executors.One client = executors.start("client");
            Executors.One server = executors.start("server");
            server.write(1, 0, sizes(500));
            FetchProgram.connect(client, "server", blocks(1, 1)[0]);
            Cost one = cost(client, server, blocks(1, 1));
            Cost many = cost(client, server, blocks(1, BLOCKS));
            System.out.printf("a request of 1 block: %.1f native calls, %.0f bytes allocated; of %d blocks: %.1f "
                + "native calls, %.0f bytes a block%n", one.polls(), one.allocated(), BLOCKS, many.polls(),
                many.allocated() / BLOCKS);
            assertTrue(many.polls() < one.polls() + BLOCKS / 10, "native calls: " + one.polls() + ", " + many.polls());
            assertTrue(many.allocated() / BLOCKS < 2048, "bytes a block: " + many.allocated() / BLOCKS);
            assertEquals(0, client.traffic.fallbacks(Traffic.Reason.DOWN));
        }
    }

    @Test
    void piecesThatAreNotSmallAreReadFromWhereTheyLieWithoutACopy() throws Exception {
        Map<String, String> settings = // costs by which the kernel's copy is worth it
            Map.of("spark.verbena.transport", "shm", "spark.verbena.core.proto.cost_file", "none");
        try (Executors executors = new Executors(settings)) {
            Executors.One client = executors.start("client");
            Executors.One server = executors.start("server");
            server.write(1, 0, sizes(20_000));
            FetchProgram.connect(client, "server", blocks(1, 1)[0]);
            long before = copied(client, server);
            fetch(client, "server", blocks(1, BLOCKS));
            long moved = copied(client, server) - before;
            long lengths = 4L * BLOCKS;
            assertEquals(20_000L * BLOCKS + lengths, moved, "bytes that the receiver read in the sender's memory");
        }
    }

    @Test
    void blocksOfSparksOwnAreCopiedToMemoryThatIsUsedAgain() throws Exception {
        String[] pieces = {"broadcast_0_piece0", "broadcast_0_piece1", "broadcast_0_piece2", "broadcast_0_piece3"};
        try (Executors executors = new Executors(Map.of("spark.verbena.transport", "shm"))) {
            Executors.One client = executors.start("client");
            Executors.One server = executors.start("server");
            server.write(1, 0, sizes(500));
            FetchProgram.connect(client, "server", blocks(1, 1)[0]);
            fetch(client, "server", pieces);
            long before = directBytes();
            long served = server.traffic.blocks(Traffic.Path.SERVED);
            for (int i = 0; i < REQUESTS; i++) {
                fetch(client, "server", pieces);
            }
            assertEquals((long) REQUESTS * pieces.length, server.traffic.blocks(Traffic.Path.SERVED) - served);
            long most = 4L * pieces.length * Executors.HEAP_BLOCK.length; // on each side each once more, rounded up
            long grown = directBytes() - before;
            assertTrue(grown <= most, grown + " bytes more of direct memory");
        }
    }

    private static long directBytes() {
        return ManagementFactory.getPlatformMXBeans(BufferPoolMXBean.class).stream()
            .filter(pool -> pool.getName().equals("direct")).findFirst().orElseThrow().getTotalCapacity();
    }

    private static long copied(Executors.One client, Executors.One server) {
        Map<String, Long> mine = client.context.counters();
        return mine.get("copy.read.bytes") + mine.get("get.mapped.bytes") + mine.get("get.stream.bytes")
            + server.context.counters().get("copy.written.bytes");
    }
}
