// SPDX-License-Identifier: Apache-2.0
// The fetching and serving halves of executors in this process, on real engines, without Spark around them.
package org.verbena.spark.read;

import java.io.IOException;
import java.io.OutputStream;
import java.nio.ByteBuffer;
import java.nio.file.Path;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.LongAdder;
import org.apache.spark.SparkConf;
import org.apache.spark.network.buffer.ManagedBuffer;
import org.apache.spark.network.buffer.NioManagedBuffer;
import org.apache.spark.network.shuffle.BlockFetchingListener;
import org.apache.spark.network.shuffle.DownloadFileManager;
import org.verbena.core.VbnConfig;
import org.verbena.core.VbnContext;
import org.verbena.core.VbnEngine;
import org.verbena.spark.VerbenaConf;
import org.verbena.spark.metrics.Traffic;
import org.verbena.spark.store.DataDirectory;
import org.verbena.spark.store.OutputBuffer;
import org.verbena.spark.store.SlabStore;

/** Knows all its executors by name, as Spark's driver does. */
final class Executors implements AutoCloseable {
    private final Map<String, One> all = new ConcurrentHashMap<>();

    /** One executor; its blocks hold the number of their partition. */
    final class One implements AutoCloseable {
        final Traffic traffic = new Traffic();
        final VbnContext context;
        final FetchClient client;
        final LongAdder requestsToSpark = new LongAdder();
        private final VbnEngine engine;
        private final FetchServer server;
        private final DataDirectory directory;
        private final SlabStore store;

        One(String name) throws Exception {
            context = VbnContext.open(new VbnConfig().jobKey(new byte[32]).set("tl.tcp.interface", "127.0.0.1"));
            directory = DataDirectory.create(Path.of("/dev/shm"), "fetch-" + ProcessHandle.current().pid(), name);
            store = new SlabStore(context, directory.path(), 8 << 20, 64 << 10, false, null);
            engine = context.startEngine(name);
            server = new FetchServer(engine, () -> store, null, traffic);
            client = new FetchClient(engine, new Spark(this), new VerbenaConf(new SparkConf(false)), 60, traffic);
        }

        /** Writes a map output of so many partitions. */
        void write(int shuffle, long map, int partitions) throws IOException {
            OutputBuffer output = store.newOutput(shuffle, map, partitions);
            for (int p = 0; p < partitions; p++) {
                try (OutputStream out = output.stream(p, true)) {
                    out.write(ByteBuffer.allocate(4).putInt(p).array());
                }
            }
            output.commit();
        }

        /** Fetches blocks of another executor and waits for all of them; what came for the last one. */
        int fetch(String from, String... blocks) throws InterruptedException {
            Semaphore done = new Semaphore(0);
            int[] value = {-1};
            client.fetch("host", 1, from, blocks, new BlockFetchingListener() {
                @Override
                public void onBlockFetchSuccess(String block, ManagedBuffer data) {
                    try {
                        value[0] = data.nioByteBuffer().getInt();
                    } catch (IOException e) {
                        value[0] = -2;
                    }
                    done.release();
                }

                @Override
                public void onBlockFetchFailure(String block, Throwable error) {
                    done.release();
                }
            }, null);
            if (!done.tryAcquire(blocks.length, 60, TimeUnit.SECONDS)) {
                throw new AssertionError("no answer from " + from + " within a minute");
            }
            return value[0];
        }

        /** Connections made so far, by either side. */
        long connects() {
            return context.counters().get("peers.connected");
        }

        @Override
        public void close() throws IOException {
            client.close();
            server.close();
            engine.close();
            store.close();
            directory.close();
            context.close();
        }
    }

    /** Spark's transport: brings addresses, and any other block from the name alone. */
    private final class Spark extends VerbenaBlockTransferService {
        private final One of;

        Spark(One of) {
            super(null, null);
            this.of = of;
        }

        @Override
        public void fetchBlocks(String host, int port, String executor, String[] blocks,
                BlockFetchingListener listener, DownloadFileManager files) {
            of.requestsToSpark.increment();
            for (String block : blocks) {
                One other = all.get(executor);
                if (other == null) {
                    listener.onBlockFetchFailure(block, new IOException(executor + " is gone"));
                    continue;
                }
                ByteBuffer data = block.equals(BlockSource.ADDRESS_BLOCK) ? ByteBuffer.wrap(other.server.address())
                    : ByteBuffer.allocate(4).putInt(0, Integer.parseInt(block.split("_")[3]));
                listener.onBlockFetchSuccess(block, new NioManagedBuffer(data));
            }
        }
    }

    /** Starts one more. */
    One start(String name) throws Exception {
        One one = new One(name);
        all.put(name, one);
        return one;
    }

    /** Ends one. */
    void stop(String name) throws IOException {
        all.remove(name).close();
    }

    @Override
    public void close() throws IOException {
        for (String name : all.keySet()) {
            stop(name);
        }
    }
}
