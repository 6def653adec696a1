// SPDX-License-Identifier: Apache-2.0
// The fetching and serving halves of executors in this process, on real engines, without Spark around them.
package org.verbena.spark.read;

import static java.util.concurrent.Executors.newFixedThreadPool;

import java.io.IOException;
import java.io.OutputStream;
import java.lang.reflect.Proxy;
import java.nio.ByteBuffer;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Future;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.LongAdder;
import java.util.function.IntFunction;
import org.apache.spark.SparkConf;
import org.apache.spark.network.BlockDataManager;
import org.apache.spark.network.buffer.ManagedBuffer;
import org.apache.spark.network.buffer.NioManagedBuffer;
import org.apache.spark.network.shuffle.BlockFetchingListener;
import org.apache.spark.network.shuffle.DownloadFileManager;
import org.apache.spark.storage.BroadcastBlockId;
import org.verbena.core.VbnConfig;
import org.verbena.core.VbnContext;
import org.verbena.core.VbnEngine;
import org.verbena.core.VbnException;
import org.verbena.spark.metrics.Traffic;
import org.verbena.spark.settings.VerbenaConf;
import org.verbena.spark.store.DataDirectory;
import org.verbena.spark.store.OutputBuffer;
import org.verbena.spark.store.SlabStore;

/** Knows all its executors by name, as Spark's driver does. */
final class Executors implements AutoCloseable {
    /** What every broadcast piece holds. */
    static final byte[] HEAP_BLOCK = content(1, 2 << 20);
    /** Spark's own spark.reducer.maxSizeInFlight. */
    static final int IN_FLIGHT = 48 << 20;
    private static final int CLOSING = 16;
    /** How often a block manager was asked for a broadcast piece. */
    static final LongAdder HEAP_READS = new LongAdder();
    /** Of servers that are started from now on. */
    long serveSeconds = 60;
    /** Tasks of each executor that is started from now on, each with spark.reducer.maxSizeInFlight of blocks. */
    int tasks = 2;
    /** How long executors that are started from now on wait for memory that comes free. */
    long patienceSeconds = 2;
    private final Map<String, One> all = new ConcurrentHashMap<>();
    private final SparkConf conf = new SparkConf(false);
    private final Store common;

    /** Executors with a store each. */
    Executors() {
        common = null;
    }

    /** Executors with these settings and one store for all, where memory for a store each would be too much. */
    Executors(Map<String, String> settings) throws Exception {
        settings.forEach(conf::set);
        common = new Store(open(), "common", 256 << 20);
    }

    private VbnContext open() throws VbnException {
        VbnConfig config = new VbnConfig().jobKey(new byte[32]).set("tl.tcp.interface", "127.0.0.1");
        new VerbenaConf(conf).core().forEach(config::set);
        return VbnContext.open(config);
    }

    /** A block manager whose only blocks are broadcast pieces, all the same, on the heap. */
    private static final BlockDataManager HEAP_BLOCKS = (BlockDataManager) Proxy.newProxyInstance(
        Executors.class.getClassLoader(), new Class<?>[] {BlockDataManager.class}, (proxy, method, arguments) -> {
            if (method.getName().equals("getLocalBlockData") && arguments[0] instanceof BroadcastBlockId) {
                HEAP_READS.increment();
                return new NioManagedBuffer(ByteBuffer.wrap(HEAP_BLOCK));
            }
            throw new IOException("no such block: " + method.getName() + Arrays.toString(arguments));
        });

    /** What a partition of this size holds. */
    static byte[] content(int partition, int size) {
        byte[] bytes = new byte[size];
        for (int i = 0; i < size; i++) {
            bytes[i] = (byte) (partition * 31 + i * 7 + (i >> 8));
        }
        return bytes;
    }

    /** Map outputs; the context is the store's. */
    private static final class Store implements AutoCloseable {
        private final VbnContext context;
        private final DataDirectory directory;
        private final SlabStore slabs;

        Store(VbnContext context, String name, long budget) throws IOException {
            this.context = context;
            directory = DataDirectory.create(Path.of("/dev/shm"), "fetch-" + ProcessHandle.current().pid(), name);
            slabs = new SlabStore(context, directory.path(), budget, 64 << 10, false, null);
        }

        void write(int shuffle, long map, int partitions, IntFunction<byte[]> content) throws IOException {
            OutputBuffer output = slabs.newOutput(shuffle, map, partitions);
            for (int p = 0; p < partitions; p++) {
                try (OutputStream out = output.stream(p, true)) {
                    out.write(content.apply(p));
                }
            }
            output.commit();
        }

        @Override
        public void close() throws IOException {
            slabs.close();
            directory.close();
            context.close();
        }
    }

    /** One executor. */
    final class One implements AutoCloseable {
        final Traffic traffic = new Traffic();
        final VbnContext context;
        final FetchClient client;
        final LongAdder requestsToSpark = new LongAdder();
        private final VbnEngine engine;
        private final FetchServer server;
        private final Store store;

        One(String name) throws Exception {
            context = open();
            store = common == null ? new Store(context, name, 8 << 20) : common;
            engine = context.startEngine(name);
            DirectMemory memory = new DirectMemory(BufferBounds.of(tasks, IN_FLIGHT, DirectMemory.limit()),
                TimeUnit.SECONDS.toNanos(patienceSeconds));
            server = new FetchServer(engine, () -> store.slabs, HEAP_BLOCKS, traffic, serveSeconds, memory);
            client = new FetchClient(engine, new Spark(this), new VerbenaConf(conf), 60, traffic, memory);
        }

        /** Writes a map output of so many partitions, each of which holds its number. */
        void write(int shuffle, long map, int partitions) throws IOException {
            store.write(shuffle, map, partitions, p -> ByteBuffer.allocate(4).putInt(p).array());
        }

        /** Writes a map output with partitions of these sizes. */
        void write(int shuffle, long map, int[] sizes) throws IOException {
            store.write(shuffle, map, sizes.length, p -> content(p, sizes[p]));
        }

        /** Bytes of map outputs that stay when this shuffle is removed: those that somebody still reads. */
        long usedWithout(int shuffle) {
            store.slabs.removeShuffle(shuffle);
            return store.slabs.usedBytes();
        }

        /** Asks another executor for blocks of one partition; each that comes with its right bytes is a permit. */
        void ask(String from, String[] blocks, int partition, Semaphore right) {
            client.fetch("host", 1, from, blocks, new BlockFetchingListener() {
                @Override
                public void onBlockFetchSuccess(String block, ManagedBuffer data) {
                    try {
                        if (data.size() == 4 && data.nioByteBuffer().getInt() == partition) {
                            right.release();
                        }
                    } catch (IOException e) {
                        throw new java.io.UncheckedIOException(e);
                    }
                }

                @Override
                public void onBlockFetchFailure(String block, Throwable error) {
                    // no permit
                }
            }, null);
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
            if (common == null) {
                store.close();
            } else {
                context.close();
            }
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
    public void close() throws Exception {
        List<Future<?>> ends = new ArrayList<>();
        ExecutorService threads = newFixedThreadPool(CLOSING); // each waits for threads of its own
        try {
            all.keySet().forEach(name -> ends.add(threads.submit(() -> {
                stop(name);
                return null;
            })));
            for (Future<?> end : ends) {
                end.get(60, TimeUnit.SECONDS);
            }
        } finally {
            threads.shutdown();
        }
        if (common != null) {
            common.close();
        }
    }
}
