// SPDX-License-Identifier: Apache-2.0
// Appends, reads and deletions while other threads move the same blocks in every way: no byte is lost, no file is left over.
package org.apache.hadoop.hdfs.server.datanode.fsdataset.impl;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import org.apache.hadoop.fs.StorageType;
import org.apache.hadoop.hdfs.protocol.ExtendedBlock;
import org.apache.hadoop.hdfs.server.datanode.ReplicaInfo;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.verbena.hadoop.hdfs.memory.MemoryLedger;

class TierStressTest {
    private static final int FILES = 3;
    private static final int MOVERS = 2;
    private static final int ROUNDS = System.getenv("VERBENA_TEST_FULL") == null ? 12 : 400;
    private static final int LIFE = 6; // appends until a file is deleted
    private static final int MOST = 20_000; // bytes of an append
    private static final int SECONDS = 120;

    @TempDir
    Path work;
    private TierCluster cluster;
    private final AtomicBoolean over = new AtomicBoolean();
    private final AtomicInteger moves = new AtomicInteger();
    private final ExtendedBlock[] current = new ExtendedBlock[FILES];

    @Test
    void no_byte_is_lost_and_no_file_left_over_whatever_moves_meanwhile() throws Exception {
        long seed = Long.parseLong(System.getenv().getOrDefault("VBN_TEST_SEED", Long.toString(System.nanoTime())));
        try {
            cluster = new TierCluster(work, MemoryLedger.OWN + 8 * TierCluster.WHOLE, Map.of("verbena.hdfs.memory.high", "100",
                "verbena.hdfs.memory.promote", "0", "verbena.hdfs.memory.persist", "async"));
            run(seed);
            settled();
        } catch (Exception | AssertionError e) {
            throw new AssertionError("VBN_TEST_SEED=" + seed + " repeats the choices of: " + e, e);
        } finally {
            cluster.close();
        }
    }

    private void run(long seed) throws Exception {
        ExecutorService threads = Executors.newFixedThreadPool(FILES + MOVERS);
        try {
            List<Future<Void>> all = new ArrayList<>();
            for (int file = 0; file < FILES; file++) {
                int mine = file;
                all.add(threads.submit((Callable<Void>) () -> write(mine, new Random(seed + mine))));
            }
            for (int mover = 0; mover < MOVERS; mover++) {
                Random random = new Random(seed - 1 - mover);
                threads.submit(() -> move(random));
            }
            for (Future<Void> each : all) {
                each.get();
            }
        } finally {
            over.set(true);
            threads.shutdown();
        }
        assertTrue(threads.awaitTermination(SECONDS, TimeUnit.SECONDS), "a move does not end");
        assertTrue(moves.get() > 0, "nothing has moved");
    }

    private Void write(int file, Random random) throws IOException {
        String name = "stress" + file;
        ByteArrayOutputStream expected = new ByteArrayOutputStream();
        for (int round = 0; round < ROUNDS; round++) {
            if (round % LIFE == 0) {
                expected.reset();
            }
            byte[] more = new byte[1 + random.nextInt(MOST)];
            random.nextBytes(more);
            try (OutputStream out = round % LIFE == 0 ? cluster.files().create(TierCluster.path(name), true)
                    : cluster.files().append(TierCluster.path(name))) {
                out.write(more);
            }
            expected.write(more);
            current[file] = cluster.block(name);
            assertArrayEquals(expected.toByteArray(), cluster.read(name), name + " in round " + round);
        }
        return null;
    }

    /** A move may fail: somebody else was faster. */
    private void move(Random random) {
        while (!over.get()) {
            ExtendedBlock block = current[random.nextInt(FILES)];
            if (block == null) {
                continue;
            }
            String pool = block.getBlockPoolId();
            TierMoves by = cluster.dataset().moves();
            try {
                ReplicaInfo now = cluster.dataset().volumeMap.get(pool, block.getBlockId());
                Object moved = switch (random.nextInt(5)) {
                    case 0 -> by.persist(pool, block.getBlockId());
                    case 1 -> by.lower(pool, block.getBlockId());
                    case 2 -> cluster.dataset().moveBlockAcrossStorage(new ExtendedBlock(pool, now),
                        random.nextBoolean() ? StorageType.SSD : StorageType.DISK, null);
                    default -> by.raise(pool, block.getBlockId());
                };
                if (moved != null) {
                    moves.incrementAndGet();
                }
            } catch (IOException | RuntimeException e) {
                Thread.yield();
            }
        }
    }

    private List<Path> files() {
        try {
            List<Path> all = new ArrayList<>(cluster.found("memory", null));
            all.addAll(cluster.found("ssd", null));
            all.addAll(cluster.found("disk", null));
            return all;
        } catch (IOException e) {
            throw new AssertionError(e);
        }
    }

    /** All is as if nothing had moved: one replica, at most one copy, right books, no damage, the NameNode knows the place. */
    private void settled() throws Exception {
        for (int file = 0; file < FILES; file++) {
            String name = "stress" + file;
            cluster.untilTold(name, cluster.kept(cluster.block(name)));
            assertEquals(0, cluster.files().getClient().getCorruptBlocksCount());
        }
        try {
            TierCluster.until("only the last blocks have files",
                () -> files().size() == FILES + cluster.dataset().copies().size());
        } catch (AssertionError e) {
            throw new AssertionError(files() + ", " + cluster.dataset().copies().size() + " copies, last blocks: "
                + Arrays.toString(current), e);
        }
        for (ExtendedBlock block : Arrays.asList(current)) {
            String pool = block.getBlockPoolId();
            ReplicaInfo replica = cluster.replica(block);
            VerifiedCopy.check(Path.of(replica.getBlockURI()), Path.of(replica.getMetadataURI()), replica.getNumBytes());
            cluster.dataset().moves().lower(pool, block.getBlockId());
        }
        TierCluster.until("memory is empty", () -> {
            try {
                return cluster.dataset().ledger().used() == MemoryLedger.OWN;
            } catch (IOException e) {
                throw new AssertionError(e);
            }
        });
        for (int file = 0; file < FILES; file++) {
            cluster.read("stress" + file);
        }
    }
}
