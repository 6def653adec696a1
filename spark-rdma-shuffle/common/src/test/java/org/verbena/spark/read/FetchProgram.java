// SPDX-License-Identifier: Apache-2.0
// Main program: two executors fetch blocks of many sizes from each other over the transports that are named, checked.
package org.verbena.spark.read;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.Arrays;
import java.util.Map;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import org.apache.spark.network.buffer.ManagedBuffer;
import org.apache.spark.network.shuffle.BlockFetchingListener;
import org.verbena.spark.metrics.Traffic;

/** usage: FetchProgram TRANSPORTS [ROUNDS]; with ROUNDS also the rate of blocks of 1 MiB. Where there is no Spark. */
final class FetchProgram {
    /** Some packets, several chunks, more than a reply of 1 MiB holds; nothing. */
    static final int[] SIZES = {1, 700, 0, 4096, 5000, 65_537, 1 << 20, 300_000, 5_000_003, 17};
    private static final int SECONDS = 60;
    private static final int LARGE = 16;

    private FetchProgram() {
    }

    /** Counts the blocks that are right. */
    private static final class Checked implements BlockFetchingListener {
        private final int[] sizes;
        final Semaphore right = new Semaphore(0);
        private volatile String wrong;

        Checked(int[] sizes) {
            this.sizes = sizes;
        }

        @Override
        public void onBlockFetchSuccess(String block, ManagedBuffer data) {
            int partition = Integer.parseInt(block.split("_")[3]);
            try {
                ByteBuffer bytes = data.nioByteBuffer();
                if (!bytes.equals(ByteBuffer.wrap(Executors.content(partition, sizes[partition])))) {
                    wrong = block + " has other bytes: " + bytes;
                }
            } catch (IOException e) {
                wrong = block + ": " + e;
            }
            right.release();
        }

        @Override
        public void onBlockFetchFailure(String block, Throwable error) {
            wrong = block + ": " + error;
            right.release();
        }

        void await() throws InterruptedException {
            if (!right.tryAcquire(sizes.length, SECONDS, TimeUnit.SECONDS)) {
                wrong = "no answer within " + SECONDS + " s";
            }
            if (wrong != null) {
                throw new IllegalStateException(wrong);
            }
        }
    }

    private static void fetch(Executors.One by, String from, int shuffle, int[] sizes) throws InterruptedException {
        String[] blocks = new String[sizes.length];
        for (int i = 0; i < blocks.length; i++) {
            blocks[i] = "shuffle_" + shuffle + "_0_" + i;
        }
        Checked checked = new Checked(sizes);
        by.client.fetch("host", 1, from, blocks, checked, null);
        checked.await();
    }

    /** Fetches a block until it comes by the core. */
    static void connect(Executors.One by, String from, String block) throws InterruptedException {
        long deadline = System.nanoTime() + TimeUnit.SECONDS.toNanos(SECONDS);
        long before = byCore(by);
        while (byCore(by) == before) {
            by.fetch(from, block);
            if (System.nanoTime() > deadline) {
                throw new IllegalStateException("no connection: " + by.traffic);
            }
        }
    }

    private static long byCore(Executors.One one) {
        return one.traffic.blocks(Traffic.Path.SHM) + one.traffic.blocks(Traffic.Path.TCP)
            + one.traffic.blocks(Traffic.Path.RDMA);
    }

    /** The traffic of both directions, in which all blocks were right; with rounds > 0 also a line with a rate. */
    static Traffic[] run(String transports, int rounds) throws Exception {
        try (Executors executors = new Executors(Map.of("spark.verbena.transport", transports))) {
            Executors.One a = executors.start("a");
            Executors.One b = executors.start("b");
            a.write(1, 0, 10);
            a.write(2, 0, SIZES);
            int[] large = new int[LARGE];
            Arrays.fill(large, 1 << 20);
            a.write(3, 0, large);
            connect(a, "b", "shuffle_1_0_7");
            connect(b, "a", "shuffle_1_0_7");
            fetch(a, "b", 2, SIZES);
            fetch(b, "a", 2, SIZES);
            fetch(a, "b", 3, large);
            long start = System.nanoTime();
            for (int i = 0; i < rounds; i++) {
                fetch(a, "b", 3, large);
            }
            if (rounds > 0) {
                double seconds = (System.nanoTime() - start) / 1e9;
                System.out.printf("rate %.1f MB/s%n", rounds * (double) (LARGE << 20) / 1e6 / seconds);
            }
            return new Traffic[] {a.traffic, b.traffic};
        }
    }

    /** Ends with status 0 when everything was right. */
    public static void main(String[] args) throws Exception {
        for (Traffic traffic : run(args[0], args.length > 1 ? Integer.parseInt(args[1]) : 0)) {
            System.out.println(traffic);
        }
        System.out.println("fetched");
    }
}
