// SPDX-License-Identifier: Apache-2.0
package org.apache.hadoop.hdfs.server.datanode.fsdataset.impl;

import java.io.IOException;
import java.util.Comparator;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.LongAdder;
import java.util.function.LongSupplier;
import org.apache.hadoop.hdfs.server.datanode.ReplicaInfo;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.verbena.hadoop.hdfs.memory.AccessCounts;
import org.verbena.hadoop.hdfs.memory.MemoryLedger;
import org.verbena.hadoop.hdfs.settings.MoveConf;
import org.verbena.hadoop.hdfs.settings.MoveConf.Persist;

/**
 * Decides which blocks leave memory, come into memory and get copies: one thread, a round each second. Blocks leave above the
 * high mark, the least used first, down to the low mark. A block that is read often comes into memory if blocks of less than half
 * its uses make room.
 */
final class TierManager {
    private static final Logger LOG = LoggerFactory.getLogger(TierManager.class);
    private static final long ROUND_MS = 1000;
    /** A block younger than this stays: its DataNode may not have told the NameNode yet that it is finished. */
    private static final long YOUNG_MS = 10_000;
    private static final long MAY_STAY_HALF = 2;

    /** A finished block in memory, since when. */
    private record Resident(String pool, long id, long since) {
        String name() {
            return MoveGuard.name(pool, id);
        }
    }

    private final MoveConf conf;
    private final MemoryLedger ledger;
    private final TierMoves moves;
    private final LowerCopies copies;
    private final LongSupplier clock;
    private final AccessCounts uses;
    private final Map<String, Resident> residents = new ConcurrentHashMap<>();
    private final Map<String, Resident> wanted = new ConcurrentHashMap<>(); // on slower tiers
    private final Map<String, Resident> damaged = new ConcurrentHashMap<>(); // in either place, and reported
    private final Set<String> said = ConcurrentHashMap.newKeySet();
    private final LongAdder evictions = new LongAdder();
    private final LongAdder promotions = new LongAdder();
    private final LongAdder failures = new LongAdder();
    private Thread thread;

    TierManager(MoveConf conf, MemoryLedger ledger, TierMoves moves, LowerCopies copies, LongSupplier clock) {
        this.conf = conf;
        this.ledger = ledger;
        this.moves = moves;
        this.copies = copies;
        this.clock = clock;
        uses = new AccessCounts(clock);
    }

    long evictions() {
        return evictions.sum();
    }

    long promotions() {
        return promotions.sum();
    }

    long failures() {
        return failures.sum();
    }

    void start() {
        thread = new Thread(this::rounds, "verbena-tiers");
        thread.setDaemon(true);
        thread.start();
    }

    void stop() {
        if (thread != null) {
            thread.interrupt();
        }
    }

    private void rounds() {
        try {
            while (true) {
                Thread.sleep(ROUND_MS);
                round();
            }
        } catch (InterruptedException e) {
            LOG.debug("the DataNode ends");
        }
    }

    /** A block is finished in memory: that is its first use. Called under locks of replicas. */
    void finished(String pool, long id) {
        Resident resident = new Resident(pool, id, clock.getAsLong());
        residents.put(resident.name(), resident);
        uses.use(resident.name());
    }

    /** Somebody reads a block. */
    void read(String pool, ReplicaInfo replica) {
        String name = MoveGuard.name(pool, replica.getBlockId());
        double count = uses.use(name);
        if (conf.promote() > 0 && Math.round(count) >= conf.promote() && LowerCopies.isBelow(replica)
                && !damaged.containsKey(name)) {
            wanted.put(name, new Resident(pool, replica.getBlockId(), clock.getAsLong()));
        }
    }

    /** The writer of a finished block waits for its copy, if the setting says so. */
    void persistNow(String pool, long id) throws IOException {
        if (conf.persist() == Persist.SYNC) {
            try {
                moves.persist(pool, id);
            } catch (IOException e) {
                failures.increment();
                throw new IOException("block " + id + " has no copy below memory, as verbena.hdfs.memory.persist=sync wants it: "
                    + e.getMessage(), e);
            }
        }
    }

    /** One round of decisions. A decision that fails is for the next round. */
    synchronized void round() {
        try {
            uses.prune();
            residents.values().removeIf(block -> moves.inMemory(block.pool, block.id) == null);
            damaged.values().removeIf(block -> moves.finished(block.pool, block.id) == null);
            makeRoom();
            raiseWanted();
            persistAll();
        } catch (IOException | RuntimeException e) {
            failures.increment();
            say("a round", "blocks stay where they are for now", e);
        }
    }

    /** What is in memory and would leave it with the blocks: files that are still read take their pages whatever is decided. */
    private long used() throws IOException {
        return ledger.used() - ledger.held();
    }

    private long mark(int percent) {
        return ledger.limit() / MoveConf.WHOLE * percent;
    }

    private boolean isOver() throws IOException {
        return conf.high() < MoveConf.WHOLE && used() > mark(conf.high());
    }

    private void makeRoom() throws IOException {
        long over = used() - mark(conf.low());
        if (isOver()) {
            for (Resident block : leastUsed()) {
                if (over <= 0) {
                    return;
                }
                over -= leave(block, "memory is fuller than " + conf.high() + " %");
            }
        }
    }

    /** Blocks of memory that may leave, the first one first: few uses, then age. */
    private List<Resident> leastUsed() {
        long now = clock.getAsLong();
        Map<Resident, Double> count = new ConcurrentHashMap<>();
        residents.values().stream().filter(block -> now - block.since >= YOUNG_MS)
            .forEach(block -> count.put(block, uses.of(block.name())));
        return count.keySet().stream().sorted(Comparator.comparingDouble((Resident block) -> count.get(block))
            .thenComparingLong(Resident::since).thenComparingLong(Resident::id)).toList();
    }

    /** Moves a block out of memory; gives the bytes that this frees. */
    private long leave(Resident block, String why) {
        ReplicaInfo before = moves.inMemory(block.pool, block.id);
        if (before == null) {
            return 0;
        }
        long bytes = MemoryLedger.pages(before.getNumBytes(), before.getMetadataLength());
        try {
            ReplicaInfo lower = moves.lower(block.pool, block.id);
            if (lower == null) {
                return 0;
            }
            residents.remove(block.name(), block);
            evictions.increment();
            LOG.info("Verbena hhh: block {} leaves memory for {}: {}, and the block has {} uses", block.id,
                lower.getVolume().getStorageType(), why, rounded(uses.of(block.name())));
            return bytes;
        } catch (IOException e) {
            failed("leave", block, "stays in memory", e);
            return 0;
        }
    }

    private static String rounded(double uses) {
        return String.format(Locale.ROOT, "%.1f", uses);
    }

    private void raiseWanted() throws IOException {
        for (Resident block : wanted.values()) {
            wanted.remove(block.name(), block);
            ReplicaInfo replica = moves.finished(block.pool, block.id);
            if (replica != null && moves.inMemory(block.pool, block.id) == null) {
                raise(block, MemoryLedger.pages(replica.getNumBytes(), replica.getMetadataLength()));
            }
        }
    }

    private void raise(Resident block, long bytes) throws IOException {
        double count = uses.of(block.name());
        if (!hasRoom(bytes, count)) {
            say("room", "block " + block.id + " stays below memory", new IOException("memory is full of blocks with at least half "
                + "its uses (" + rounded(count) + ")"));
            return;
        }
        try {
            ReplicaInfo up = moves.raise(block.pool, block.id);
            if (up != null) {
                promotions.increment();
                LOG.info("Verbena hhh: block {} comes into memory: {} uses", block.id, rounded(count));
            }
        } catch (IOException e) {
            failed("raise", block, "stays below memory", e);
        }
    }

    /** Whether a block may come into memory; blocks of less than half its uses leave for it. */
    private boolean hasRoom(long bytes, double count) throws IOException {
        long over = used() + bytes - mark(conf.high());
        for (Resident block : over > 0 && conf.high() < MoveConf.WHOLE ? leastUsed() : List.<Resident>of()) {
            if (over <= 0 || uses.of(block.name()) * MAY_STAY_HALF >= count) {
                break;
            }
            over -= leave(block, "a block with " + rounded(count) + " uses comes");
        }
        return over <= 0 && ledger.fits(bytes);
    }

    private void persistAll() throws IOException {
        if (conf.persist() == Persist.OFF) {
            return;
        }
        for (Resident block : residents.values().stream().filter(block -> !copies.has(block.name()))
                .sorted(Comparator.comparingLong(Resident::since)).toList()) {
            if (isOver()) {
                return; // room is more urgent than the next copy
            }
            try {
                moves.persist(block.pool, block.id);
            } catch (IOException e) {
                failed("persist", block, "has no copy below memory yet", e);
            }
        }
    }

    private void failed(String kind, Resident block, String what, IOException why) {
        failures.increment();
        if (why instanceof VerifiedCopy.DamagedException) {
            residents.remove(block.name(), block);
            damaged.put(block.name(), block);
        }
        say(kind, "block " + block.id + " " + what, why);
    }

    /** The memory tier is lost: blocks that have a copy go on there. */
    void memoryLost() {
        for (Resident block : residents.values()) {
            if (copies.has(block.name())) {
                leave(block, "the memory tier is lost");
            }
        }
    }

    /** A kind of failure is said once, the rest is counted. */
    private void say(String kind, String what, Exception why) {
        if (said.add(kind)) {
            LOG.warn("Verbena hhh: {}: {} (said once, the rest is counted in tier.failures)", what, why.getMessage());
        } else {
            LOG.debug("{}: {}", what, why.toString());
        }
    }
}
