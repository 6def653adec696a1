// SPDX-License-Identifier: Apache-2.0
// The map outputs of one executor in slabs, within a budget; what exceeds it goes to Spark's own files.
package org.verbena.spark.store;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.SecureRandom;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.LongAdder;
import java.util.function.LongSupplier;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.verbena.core.SlabPool;
import org.verbena.core.VbnContext;

/**
 * Holds map outputs. An output is published to the other executors of the host as a symbolic link
 * {@code m-SHUFFLE-MAP -> slab:offset:length:generation} in the slab directory (one system call, atomic). Before
 * the pool is exhausted, whole outputs move to Spark's data and index file ({@link Spiller}). Thread safe.
 */
public final class SlabStore implements AutoCloseable {
    private static final Logger LOG = LoggerFactory.getLogger(SlabStore.class);

    private static final long ADJUST_NANOS = 1_000_000_000L;

    private final SlabPool pool;
    private final Path directory;
    private final ShuffleFiles files;
    private final int chunkBytes;
    private final int slabBytes;
    private final boolean checksums;
    private final Map<Integer, ByteBuffer> slabViews = new ConcurrentHashMap<>();
    private final Map<Integer, Map<Long, MapOutput>> shuffles = new ConcurrentHashMap<>();
    private final Spiller spiller;
    private final AtomicLong uses = new AtomicLong();
    private final SecureRandom random = new SecureRandom();
    private final LongAdder spilledBytes = new LongAdder();
    private final LongAdder spilledOutputs = new LongAdder();
    private final LongAdder pinnedBytes = new LongAdder();
    private final LongAdder writtenBytes = new LongAdder();
    private final LongAdder removedShuffles = new LongAdder();
    private final AtomicBoolean spilling = new AtomicBoolean();
    private final Object publishLock = new Object();
    private final AtomicLong lastAdjusted = new AtomicLong(System.nanoTime() - 2 * ADJUST_NANOS);
    private volatile LongSupplier budget;

    /**
     * Makes an empty store.
     *
     * @param directory private directory (0700) on tmpfs for the slabs
     * @param budgetBytes most bytes of slabs
     * @param chunkBytes largest piece of a partition while it is written
     * @param checksums whether partitions get checksums, which are compared before they are read
     * @param files where outputs go that exceed the budget
     */
    public SlabStore(VbnContext context, Path directory, long budgetBytes, int chunkBytes, boolean checksums,
            ShuffleFiles files) {
        this.directory = directory;
        this.files = files;
        this.chunkBytes = chunkBytes;
        this.checksums = checksums;
        this.slabBytes = slabBytes(budgetBytes);
        this.pool = SlabPool.files(context, directory, slabBytes, budgetBytes);
        this.spiller = new Spiller(pool, files, this::spilled);
    }

    /**
     * Makes the budget follow something that changes; asked when outputs are published, at most once a second.
     *
     * @param bytes gives most bytes of slabs
     */
    public void follow(LongSupplier bytes) {
        budget = bytes;
    }

    /**
     * What to do when memory gets scarce and several shuffles are in it, some of which may be dead.
     *
     * @param ask returns at once
     */
    public void whenNearlyFull(Runnable ask) {
        spiller.whenNearlyFull(() -> {
            if (shuffles.size() > 1) {
                ask.run();
            }
        });
    }

    private void adjustBudget() {
        LongSupplier current = budget;
        long now = System.nanoTime();
        long last = lastAdjusted.get();
        if (current != null && now - last > ADJUST_NANOS && lastAdjusted.compareAndSet(last, now)) {
            pool.setBudgetBytes(current.getAsLong());
        }
    }

    /** Slabs are 64 MiB, less when the budget would hold fewer than eight. */
    static int slabBytes(long budgetBytes) {
        int size = 64 << 20;
        while (size > 1 << 20 && size > budgetBytes / 8) {
            size >>= 1;
        }
        return size;
    }

    /** Largest piece of a partition while it is written, in bytes. */
    public int chunkBytes() {
        return chunkBytes;
    }

    /**
     * Gives slabs back to the system in which nothing is, and has been nothing for a while.
     *
     * @param idleNanos how long
     */
    public void trim(long idleNanos) {
        pool.trim(idleNanos).forEach(slabViews::remove);
    }

    /** Whether partitions get checksums. */
    public boolean checksums() {
        return checksums;
    }

    /** Spark's files, for outputs that do not fit. */
    ShuffleFiles files() {
        return files;
    }

    /**
     * Takes memory; waits for outputs to be spilled when there is none.
     *
     * @return a chunk, or null when nothing more can be freed
     */
    SlabPool.Chunk allocate(int bytes) {
        if (bytes > slabBytes) {
            return null;
        }
        SlabPool.Chunk chunk = pool.allocate(bytes);
        while (chunk == null) {
            if (!spiller.awaitRoom()) {
                return null;
            }
            chunk = pool.allocate(bytes);
        }
        SlabPool.Chunk taken = chunk;
        slabViews.computeIfAbsent(taken.slab(), n -> taken.memory().buffer());
        return chunk;
    }

    /** Begins the output of a map task. */
    public OutputBuffer newOutput(int shuffleId, long mapId, int partitions) {
        return new OutputBuffer(this, shuffleId, mapId, partitions);
    }

    /** Makes a finished output findable here and by the other executors of the host. */
    MapOutput publish(int shuffleId, long mapId, long bytes, int[] first, int[] triples, int[] sums,
            SlabPool.Chunk indexChunk, List<SlabPool.Chunk> chunks) throws IOException {
        long generation;
        do {
            generation = random.nextLong();
        } while (generation == 0);
        MapIndex index = MapIndex.write(indexChunk.buffer(), generation, first, triples, sums, slabViews::get);
        List<SlabPool.Chunk> all = new ArrayList<>(chunks);
        all.add(indexChunk);
        MapOutput output = new MapOutput(shuffleId, mapId, bytes, index, all, pinnedBytes, uses);
        Path target = Path.of(indexChunk.slab() + ":" + indexChunk.offset() + ":"
            + MapIndex.bytes(index.partitions(), triples.length / 3, sums.length) + ":" + Long.toHexString(generation));
        synchronized (publishLock) {
            remove(shuffleId, mapId); // an earlier attempt with the same map id: the last one counts
            try {
                Files.createSymbolicLink(link(shuffleId, mapId), target);
            } catch (IOException e) {
                index.retire();
                throw new IOException("cannot publish a map output in " + directory + ": " + e, e);
            }
            shuffles.computeIfAbsent(shuffleId, n -> new ConcurrentHashMap<>()).put(mapId, output);
        }
        spiller.add(output);
        writtenBytes.add(bytes);
        adjustBudget();
        return output;
    }

    /** Remembers an output that went to Spark's files, so that they are deleted with the shuffle. */
    void publishedFiles(int shuffleId, long mapId, long bytes) {
        shuffles.computeIfAbsent(shuffleId, n -> new ConcurrentHashMap<>())
            .put(mapId, MapOutput.inFiles(shuffleId, mapId, bytes));
        countSpilled(bytes);
    }

    private void countSpilled(long bytes) {
        if (spilling.compareAndSet(false, true)) {
            LOG.info("memory for map outputs is full ({} of {} MiB): map outputs go to disk from now on",
                reservedBytes() >> 20, budgetBytes() >> 20);
        }
        spilledBytes.add(bytes);
        spilledOutputs.increment();
    }

    /** Finds a live output; null when it is not in slabs (any more). */
    public MapOutput find(int shuffleId, long mapId) {
        Map<Long, MapOutput> maps = shuffles.get(shuffleId);
        MapOutput output = maps == null ? null : maps.get(mapId);
        return output == null || output.state() != MapOutput.State.LIVE ? null : output;
    }

    /** Forgets one output; its memory returns when its last reader is done, its files go. */
    public void remove(int shuffleId, long mapId) {
        Map<Long, MapOutput> maps = shuffles.get(shuffleId);
        MapOutput output = maps == null ? null : maps.remove(mapId);
        if (output != null && !end(output, MapOutput.State.REMOVED)) {
            files.delete(shuffleId, mapId);
        }
    }

    /** Forgets a shuffle with all its outputs, also those in Spark's files. */
    public void removeShuffle(int shuffleId) {
        Map<Long, MapOutput> maps = shuffles.remove(shuffleId);
        if (maps == null) {
            return;
        }
        removedShuffles.increment();
        for (MapOutput output : maps.values()) {
            if (!end(output, MapOutput.State.REMOVED)) {
                files.delete(shuffleId, output.mapId());
            }
        }
    }

    /** Moves everything to Spark's files. */
    void spillAll() {
        spiller.moveAll();
    }

    /** Moves one output to Spark's files, in the caller's thread; nothing when it is not in slabs. */
    public void spill(int shuffleId, long mapId) {
        MapOutput output = find(shuffleId, mapId);
        if (output != null) {
            spiller.move(output);
        }
    }

    /** The outputs in slabs. */
    public List<MapOutput> live() {
        return spiller.live();
    }

    /** Its files are complete; when the output was removed meanwhile, nobody else would delete them. */
    private void spilled(MapOutput output) {
        if (end(output, MapOutput.State.SPILLED)) {
            countSpilled(output.bytes());
        } else {
            Map<Long, MapOutput> maps = shuffles.get(output.shuffleId());
            if (maps == null || !maps.containsKey(output.mapId())) {
                files.delete(output.shuffleId(), output.mapId());
            }
        }
    }

    private boolean end(MapOutput output, MapOutput.State state) {
        if (!output.retire(state)) {
            return false;
        }
        try {
            Files.deleteIfExists(link(output.shuffleId(), output.mapId()));
        } catch (IOException e) {
            LOG.warn("cannot remove {}: {}", link(output.shuffleId(), output.mapId()), e.toString());
        }
        spiller.remove(output);
        return true;
    }

    private Path link(int shuffleId, long mapId) {
        return directory.resolve("m-" + shuffleId + "-" + mapId);
    }

    /** Bytes of chunks in use. */
    public long usedBytes() {
        return pool.usedBytes();
    }

    /** Bytes of slabs that exist. */
    public long reservedBytes() {
        return pool.reservedBytes();
    }

    /** Most bytes of slabs. */
    public long budgetBytes() {
        return pool.budgetBytes();
    }

    /** Bytes of map outputs written into slabs so far. */
    public long writtenBytes() {
        return writtenBytes.sum();
    }

    /** Shuffles with outputs here that were forgotten so far. */
    public long removedShuffles() {
        return removedShuffles.sum();
    }

    /** Bytes of map outputs moved to Spark's files so far. */
    public long spilledBytes() {
        return spilledBytes.sum();
    }

    /** Map outputs moved to Spark's files so far. */
    public long spilledOutputs() {
        return spilledOutputs.sum();
    }

    /** Bytes of map outputs of which somebody reads a part now. */
    public long pinnedBytes() {
        return pinnedBytes.sum();
    }

    /** Ends all outputs and gives the slabs back. */
    @Override
    public void close() {
        spiller.close(); // it reads what is unmapped below
        for (Integer shuffleId : new ArrayList<>(shuffles.keySet())) {
            Map<Long, MapOutput> maps = shuffles.remove(shuffleId);
            if (maps != null) {
                maps.values().forEach(output -> end(output, MapOutput.State.REMOVED));
            }
        }
        pool.close();
    }
}
