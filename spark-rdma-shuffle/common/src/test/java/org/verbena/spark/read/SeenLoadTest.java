// SPDX-License-Identifier: Apache-2.0
// What fetching takes can be seen while it takes it: direct memory, requests and their times.
package org.verbena.spark.read;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.Map;
import java.util.concurrent.LinkedBlockingQueue;
import org.apache.spark.network.buffer.ManagedBuffer;
import org.apache.spark.network.shuffle.BlockFetchingListener;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.verbena.spark.metrics.Traffic;

@Timeout(120)
class SeenLoadTest {
    private static final int SIZE = 1 << 20;
    private static final int BLOCKS = 3;

    private static void ask(Executors.One client, LinkedBlockingQueue<ManagedBuffer> came, String block) {
        client.client.fetch("host", 1, "server", new String[] {block}, new BlockFetchingListener() {
            @Override
            public void onBlockFetchSuccess(String name, ManagedBuffer data) {
                came.add(data.retain());
            }

            @Override
            public void onBlockFetchFailure(String name, Throwable error) {
                // what is waited for does not come
            }
        }, null);
    }

    @Test
    void directMemoryIsCountedWhileTasksHoldTheirBlocksAndEachRequestHasATime() throws Exception {
        try (Executors executors = new Executors(Map.of("spark.verbena.transport", "tcp"))) {
            Executors.One client = executors.start("client");
            Executors.One server = executors.start("server");
            server.write(1, 0, new int[] {SIZE, SIZE, SIZE});
            server.write(2, 0, 1);
            FetchProgram.connect(client, "server", "shuffle_2_0_0");
            Crowd.await(() -> client.client.directBytes() == 0, "the first requests have given their memory back");
            LinkedBlockingQueue<ManagedBuffer> came = new LinkedBlockingQueue<>();
            for (int i = 0; i < BLOCKS; i++) {
                ask(client, came, "shuffle_1_0_" + i);
            }
            Crowd.await(() -> came.size() == BLOCKS, "all blocks came");
            assertTrue(client.client.directBytes() >= BLOCKS * (long) SIZE, client.client.directBytes() + " bytes");
            Crowd.await(() -> client.traffic.fetches().count() == client.traffic.blocks(Traffic.Path.TCP),
                "each request, all for one block, has a time");
            assertTrue(client.traffic.fetches().micros(99) >= client.traffic.fetches().micros(50));
            assertTrue(client.traffic.fetches().micros(50) > 0);
            assertEquals(0, client.traffic.fetches().timeouts());
            came.forEach(ManagedBuffer::release);
            Crowd.await(() -> client.client.directBytes() == 0, "the blocks have given their memory back");
        }
    }
}
