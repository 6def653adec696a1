// SPDX-License-Identifier: Apache-2.0
// What executors cost each other, as functions of map outputs M, reduce tasks R and executors E.
package org.verbena.spark.read;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.File;
import java.io.IOException;
import java.lang.management.BufferPoolMXBean;
import java.lang.management.ManagementFactory;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.condition.EnabledIfEnvironmentVariable;
import org.verbena.spark.metrics.Traffic;

@Timeout(400)
class ScaleTest {
    private static final int MAX_PEERS = 512; // default of spark.verbena.maxPeers
    private static final int FILES_OF_AN_EXECUTOR = 12; // at most; a connection has two, because both ends are here

    /** Memory, threads and files of this process, to be subtracted from each other. */
    private record Use(long heap, long direct, long threads, long files) {
        static Use now() throws IOException {
            System.gc();
            Runtime runtime = Runtime.getRuntime();
            long direct = ManagementFactory.getPlatformMXBeans(BufferPoolMXBean.class).stream()
                .filter(pool -> pool.getName().equals("direct")).mapToLong(BufferPoolMXBean::getMemoryUsed).sum();
            return new Use(runtime.totalMemory() - runtime.freeMemory(), direct,
                ManagementFactory.getThreadMXBean().getThreadCount(), openFiles());
        }

        Use since(Use before) {
            return new Use(heap - before.heap, direct - before.direct, threads - before.threads, files - before.files);
        }

        String per(int count) {
            return String.format("heap %d B, direct buffers %d B, threads %.1f, files %.1f", heap / count,
                direct / count, (double) threads / count, (double) files / count);
        }
    }

    private static long openFiles() {
        return new File("/proc/self/fd").list().length;
    }

    /** Most open files of this process. */
    private static long filesAllowed() throws IOException {
        String line = Files.readAllLines(Path.of("/proc/self/limits")).stream()
            .filter(text -> text.startsWith("Max open files")).findFirst().orElseThrow();
        return Long.parseLong(line.split("\\s+")[3]);
    }

    /** Runs a shuffle among so many executors and checks all that is counted. */
    private static void shuffle(int count, int reducing, int maps, int reducers) throws Exception {
        int peers = Math.min(count - 1, MAX_PEERS);
        int links = reducing * peers - reducing * (reducing - 1) / 2; // one between two that both reduce
        long requests = (long) reducing * reducers * peers;
        Use before = Use.now();
        try (Crowd crowd = new Crowd(maps, reducers)) {
            crowd.start(count, reducing);
            Use idle = Use.now();
            crowd.connect(links);
            long wireup = crowd.messages();
            Use connected = Use.now();
            long bySpark = crowd.requestsToSpark();
            assertEquals((long) reducing * (count - 1 + peers), bySpark, "a first block and an address of each");
            long bytes = crowd.sum("tcp.tx.bytes");
            crowd.reduce();
            long messages = crowd.messages() - wireup;
            assertTrue(2 * requests <= messages && messages <= 2 * requests + links,
                messages + " messages instead of " + 2 * requests
                + ": a request and a reply for each reduce task and other executor, and what a thread without a turn sent late "
                + "of a wire-up");
            assertEquals((long) reducing * reducers * (count - 1 - peers), crowd.requestsToSpark() - bySpark,
                "executors beyond spark.verbena.maxPeers: a request of Spark's transport");
            assertEquals(requests * maps, crowd.sum(traffic -> traffic.blocks(Traffic.Path.TCP)));
            assertEquals(0, crowd.sum(traffic -> traffic.fallbacks(Traffic.Reason.DOWN)
                + traffic.fallbacks(Traffic.Reason.NOT_SERVED) + traffic.fallbacks(Traffic.Reason.REFUSED)));
            Arrays.stream(crowd.connections()).forEach(of -> assertTrue(of <= peers, "connections: " + of));
            System.out.printf("E=%d (%d reduce) M=%d R=%d: %d connections, %d packets to make them, %d messages of "
                + "%d B, blocks %d%n  an executor: %s%n  a connection, both ends: %s%n", count, reducing, count * maps,
                reducing * reducers, links, wireup, messages, (crowd.sum("tcp.tx.bytes") - bytes) / messages,
                requests * maps, idle.since(before).per(count), connected.since(idle).per(links));
            crowd.rest();
            Crowd.await(() -> openFiles() < idle.files() + 10, "files of closed connections are closed");
        }
    }

    @Test
    void requestsGrowWithReduceTasksTimesExecutorsWhateverTheMapOutputs() throws Exception {
        for (int maps : new int[] {1, 10, 100}) {
            shuffle(8, 8, maps, 2);
        }
        shuffle(16, 16, 10, 2);
        shuffle(16, 16, 10, 4);
    }

    @Test
    void twoHundredExecutors() throws Exception {
        shuffle(200, 16, 5, 2);
    }

    @Test
    @EnabledIfEnvironmentVariable(named = "VERBENA_TEST_FULL", matches = "1")
    void aThousandExecutorsAndTheBoundOfConnections() throws Exception {
        int count = 1000;
        long room = (filesAllowed() - 500 - (long) count * FILES_OF_AN_EXECUTOR) / (2 * MAX_PEERS);
        assertTrue(room >= 2, "ulimit -n is too small for a thousand executors in one process");
        shuffle(count, (int) Math.min(room, 16), 2, 2);
    }
}
