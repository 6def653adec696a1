// SPDX-License-Identifier: Apache-2.0
// A DataNode gets a volume of the shared path with a block that it has in another volume, too.
package org.apache.hadoop.hdfs.server.datanode.fsdataset.impl;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.io.InterruptedIOException;
import java.io.OutputStream;
import java.io.UncheckedIOException;
import java.lang.management.ManagementFactory;
import java.lang.management.ThreadInfo;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Callable;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import org.apache.hadoop.fs.StorageType;
import org.apache.hadoop.hdfs.DFSClient;
import org.apache.hadoop.hdfs.LocalHdfs;
import org.apache.hadoop.hdfs.protocol.ExtendedBlock;
import org.apache.hadoop.hdfs.protocol.LocatedBlock;
import org.apache.hadoop.hdfs.server.common.HdfsServerConstants.ReplicaState;
import org.apache.hadoop.hdfs.server.datanode.DatanodeUtil;
import org.apache.hadoop.hdfs.server.datanode.ReplicaBuilder;
import org.apache.hadoop.hdfs.server.datanode.ReplicaHandler;
import org.apache.hadoop.hdfs.server.datanode.ReplicaInPipeline;
import org.apache.hadoop.hdfs.server.datanode.ReplicaInfo;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.verbena.hadoop.hdfs.memory.MemoryLedger;

@Timeout(600)
class NewerReplicaTest {
    private static final int BYTES = 66_000;
    private static final org.apache.hadoop.fs.Path COLD = new org.apache.hadoop.fs.Path("/cold");
    private static final org.apache.hadoop.fs.Path FILE = new org.apache.hadoop.fs.Path(COLD, "file");

    @TempDir
    Path work;

    private ReplicaInfo replica(ReplicaState state, long stamp, long length) {
        return new ReplicaBuilder(state).setBlockId(5).setGenerationStamp(stamp).setLength(length)
            .setDirectoryToUse(work.toFile()).setBytesToReserve(0).build();
    }

    private boolean isShared(ReplicaInfo own, ReplicaInfo shared) {
        boolean is = NewerReplica.isShared(own, shared);
        assertFalse(is && own != null && own.getGenerationStamp() > shared.getGenerationStamp());
        return is;
    }

    @Test
    void the_newer_replica_stays_whatever_its_state_is_and_of_equal_ones_that_of_the_path() {
        ReplicaInfo done = replica(ReplicaState.FINALIZED, 2, 100);
        assertTrue(isShared(null, done));
        assertTrue(isShared(replica(ReplicaState.FINALIZED, 2, 100), done));
        for (ReplicaState state : List.of(ReplicaState.FINALIZED, ReplicaState.RBW, ReplicaState.RWR)) {
            assertTrue(isShared(replica(state, 1, 200), done), "older: " + state);
            assertFalse(isShared(replica(state, 3, 50), done), "newer: " + state);
        }
        for (ReplicaState state : List.of(ReplicaState.RBW, ReplicaState.RWR, ReplicaState.TEMPORARY)) {
            assertTrue(isShared(replica(state, 2, 100), done), "not finished: " + state);
        }
        ReplicaInfo waits = replica(ReplicaState.RWR, 2, 100);
        assertFalse(isShared(done, waits));
        assertTrue(isShared(replica(ReplicaState.RWR, 2, 100), waits));
        assertFalse(isShared(replica(ReplicaState.RWR, 2, 101), waits));
        assertFalse(isShared(replica(ReplicaState.RBW, 2, 0), waits), "it is being written");
    }

    @Test
    void the_files_of_the_other_one_stay_unless_the_own_one_has_all_of_it() throws Exception {
        Files.write(work.resolve("blk_5"), new byte[100]);
        ReplicaInfo waits = replica(ReplicaState.RWR, 2, 100);
        assertTrue(NewerReplica.isWhole(replica(ReplicaState.FINALIZED, 2, 100), waits));
        assertTrue(NewerReplica.isWhole(replica(ReplicaState.RWR, 3, 100), waits));
        assertFalse(NewerReplica.isWhole(replica(ReplicaState.RWR, 3, 99), waits));
        assertFalse(NewerReplica.isWhole(replica(ReplicaState.TEMPORARY, 3, 100), waits));
        assertFalse(NewerReplica.isWhole(replica(ReplicaState.RWR, 2, 100), replica(ReplicaState.RWR, 2, 101)));
    }

    // ------------------------------------------------------------------------------------ in a running DataNode

    private TierCluster begun() throws Exception {
        return begun("600000");
    }

    private TierCluster begun(String lease) throws Exception {
        Path shared = Files.createDirectory(work.resolve("shared"));
        TierCluster cluster = new TierCluster(work, MemoryLedger.OWN + 8 * TierCluster.WHOLE, Map.of("verbena.hdfs.mode", "hhh-l",
            "verbena.hdfs.shared.dir", shared.toString(), "verbena.hdfs.shared.lease.ms", lease,
            "dfs.datanode.xceiver.stop.timeout.millis", "600000")); // writers of these tests end, however long that takes
        cluster.files().mkdirs(COLD);
        cluster.files().setStoragePolicy(COLD, "COLD");
        LocalHdfs.until("a file lies on the shared path", () -> {
            try {
                append(cluster.files().create(FILE));
                return List.of(located(cluster).getStorageTypes()).equals(List.of(StorageType.ARCHIVE));
            } catch (IOException e) {
                return false; // the NameNode has not heard of the volume
            }
        });
        return cluster;
    }

    private static void append(OutputStream to) throws IOException {
        try (to) {
            to.write(TierCluster.content("file", BYTES));
        }
    }

    private static LocatedBlock located(TierCluster cluster) throws IOException {
        return LocalHdfs.block(cluster.files(), FILE);
    }

    private static byte[] read(TierCluster cluster) throws IOException {
        try (var in = cluster.files().open(FILE)) {
            return in.readAllBytes();
        }
    }

    /** The files of a block's replica below a folder: the data first. */
    private static List<Path> files(Path below, ExtendedBlock block) throws IOException {
        return LocalHdfs.found(below, name -> name.matches(block.getBlockName() + "(_[0-9]+[.]meta)?")).stream().sorted().toList();
    }

    private static boolean isEmpty(Path below, ExtendedBlock block) {
        try {
            return files(below, block).isEmpty();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** Copies a replica to where a volume has those that are being written. Hadoop's list of the volume would hide it. */
    private static void plant(Path from, Path volume, String pool) throws IOException {
        Path current = volume.resolve("current").resolve(pool).resolve("current");
        Files.deleteIfExists(current.resolve("replicas"));
        Path to = Files.createDirectories(current.resolve("rbw"));
        for (Path file : LocalHdfs.found(from, name -> true)) {
            Files.copy(file, to.resolve(file.getFileName()));
        }
    }

    /** Copies a replica to where a volume has those that are finished. */
    private static void plantFinished(Path from, Path volume, ExtendedBlock block) throws IOException {
        Path current = volume.resolve("current").resolve(block.getBlockPoolId()).resolve("current");
        Files.deleteIfExists(current.resolve("replicas"));
        Path to = DatanodeUtil.idToBlockDir(current.resolve("finalized").toFile(), block.getBlockId()).toPath();
        Files.createDirectories(to);
        for (Path file : LocalHdfs.found(from, name -> true)) {
            Files.copy(file, to.resolve(file.getFileName()));
        }
    }

    private Path keep(List<Path> files) throws IOException {
        Path folder = Files.createDirectory(work.resolve("older"));
        for (Path file : files) {
            Files.copy(file, folder.resolve(file.getFileName()));
        }
        return folder;
    }

    private void findsOlder(StorageType tier) throws Exception {
        try (TierCluster cluster = begun()) {
            Path volume = cluster.volume(tier).getCurrentDir().toPath().getParent();
            ExtendedBlock old = located(cluster).getBlock();
            cluster.stop();
            Path older = keep(files(work.resolve("shared"), old));
            cluster.start();
            append(cluster.files().append(FILE));
            ExtendedBlock now = located(cluster).getBlock();
            assertTrue(now.getGenerationStamp() > old.getGenerationStamp());
            byte[] whole = read(cluster);
            assertEquals(2 * BYTES, whole.length);
            cluster.stop();
            plant(older, volume, now.getBlockPoolId());
            cluster.start();
            LocalHdfs.until("the newer one is served", () -> cluster.kept(now) == StorageType.ARCHIVE);
            assertEquals(now.getGenerationStamp(), cluster.replica(now).getGenerationStamp());
            LocalHdfs.until("the older one is deleted", () -> isEmpty(volume, now));
            LocalHdfs.until("the NameNode takes it for good", () -> isGood(cluster));
            assertArrayEquals(whole, read(cluster));
        }
    }

    @Test
    void a_data_node_that_has_an_older_replica_on_an_ssd_keeps_the_one_on_the_path() throws Exception {
        findsOlder(StorageType.SSD);
    }

    @Test
    void a_data_node_that_has_an_older_replica_in_memory_keeps_the_one_on_the_path() throws Exception {
        findsOlder(StorageType.NVDIMM);
    }

    /** The host of its client and of the DataNode with the volume is lost as soon as the DataNode has set it up. */
    @Test
    void a_block_whose_append_was_only_set_up_is_whole_when_its_lease_is_recovered() throws Exception {
        try (TierCluster cluster = begun()) {
            ExtendedBlock block = located(cluster).getBlock();
            Path ssd = cluster.volume(StorageType.SSD).getCurrentDir().toPath().getParent();
            Path older = keep(files(work.resolve("shared"), block));
            cluster.files().append(FILE);
            DFSClient client = cluster.files().getClient();
            long stamp = client.getNamenode().updateBlockForPipeline(block, client.getClientName()).getBlock()
                .getGenerationStamp();
            cluster.dataset().append(new ExtendedBlock(block), stamp, BYTES).close();
            cluster.stop();
            plantFinished(older, ssd, block);
            cluster.start();
            LocalHdfs.until("the newer one is served", () -> cluster.kept(block) == StorageType.ARCHIVE);
            assertEquals(ReplicaState.RWR, cluster.replica(block).getState());
            LocalHdfs.until("the lease is recovered", () -> {
                try {
                    return cluster.files().recoverLease(FILE);
                } catch (IOException e) {
                    throw new UncheckedIOException(e);
                }
            });
            assertEquals(ReplicaState.FINALIZED, cluster.replica(block).getState());
            assertArrayEquals(TierCluster.content("file", BYTES), read(cluster));
        }
    }

    private static boolean isCorrupt(TierCluster cluster) {
        try {
            return located(cluster).isCorrupt();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /**
     * The only volume on the path becomes that of another DataNode, and the replica one on the SSD, which the NameNode takes for
     * corrupt. Then the volume comes.
     *
     * @param owner whose it is then; null: that of this DataNode, which has ended, and begins again
     */
    private void findsGood(String owner) throws Exception {
        try (TierCluster cluster = begun("1000")) {
            ExtendedBlock block = located(cluster).getBlock();
            Path ssd = cluster.volume(StorageType.SSD).getCurrentDir().toPath().getParent();
            Path volume = cluster.volume(StorageType.ARCHIVE).getCurrentDir().toPath().getParent().getParent();
            cluster.stop();
            plantFinished(keep(files(volume, block)), ssd, block);
            Path hidden = Files.move(volume, work.resolve("hidden"));
            cluster.start();
            LocalHdfs.until("the NameNode knows it", () -> cluster.kept(block) == StorageType.SSD);
            LocalHdfs.untilKnown(cluster.files(), FILE, 1);
            cluster.files().getClient().reportBadBlocks(new LocatedBlock[] {located(cluster)});
            assertTrue(isCorrupt(cluster));
            if (owner == null) {
                cluster.stop();
                Files.move(hidden, volume);
                cluster.start();
            } else {
                Files.writeString(hidden.resolve("owner.1"), owner);
                Files.move(hidden, volume);
            }
            LocalHdfs.until("the one on the path is served", () -> cluster.kept(block) == StorageType.ARCHIVE);
            LocalHdfs.until("the NameNode takes it for good", () -> isGood(cluster));
            assertArrayEquals(TierCluster.content("file", BYTES), read(cluster));
        }
    }

    @Test
    void a_block_whose_own_replica_is_marked_corrupt_is_good_when_its_volume_on_the_path_is_adopted() throws Exception {
        findsGood("node=other\n");
    }

    @Test
    void a_block_whose_own_replica_is_marked_corrupt_is_good_when_the_data_node_begins_with_one_on_the_path() throws Exception {
        findsGood(null);
    }

    private static boolean isGood(TierCluster cluster) {
        try {
            LocatedBlock block = located(cluster);
            return !block.isCorrupt() && List.of(block.getStorageTypes()).equals(List.of(StorageType.ARCHIVE));
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    // ------------------------------------------------------------------------------------ while others use the own one

    /** Ends with the failures of what it does. */
    private static final class Doing extends Thread {
        private final Callable<Void> work;
        private Throwable failure;

        Doing(Callable<Void> work) {
            this.work = work;
            setDaemon(true);
            start();
        }

        @Override
        public void run() {
            try {
                work.call();
            } catch (Exception | AssertionError e) {
                failure = e;
            }
        }

        /** Whether it waits until another thread ends, or for a lock which that one has; also when it has ended. */
        boolean isHeldUpBy(Thread other) {
            ThreadInfo now = ManagementFactory.getThreadMXBean().getThreadInfo(getId());
            return now == null || now.getLockOwnerId() == other.getId()
                || now.getLockInfo() != null && now.getLockInfo().getIdentityHashCode() == System.identityHashCode(other);
        }

        void end() throws InterruptedException {
            join();
            assertNull(failure, () -> failure.toString());
        }
    }

    private static Doing settle(TierCluster cluster, ReplicaInfo shared) throws IOException {
        String pool = located(cluster).getBlock().getBlockPoolId();
        return new Doing(() -> {
            cluster.dataset().sharedVolumes().settle(List.of(new SharedVolume.Twice(pool, shared)));
            return null;
        });
    }

    /** A stopped writer hears of one more acknowledgement, and gives back what is left, as a receiver does. */
    private static void writeUntilStopped(TierCluster cluster, ExtendedBlock block, CompletableFuture<ReplicaInfo> begun,
            Runnable stays) throws Exception {
        try (ReplicaHandler made = cluster.dataset().createRbw(StorageType.SSD, null, block, false, 0)) {
            ReplicaInPipeline replica = made.getReplica();
            begun.complete(replica.getReplicaInfo());
            assertThrows(InterruptedException.class, () -> Thread.sleep(Long.MAX_VALUE));
            stays.run();
            replica.setNumBytes(BYTES);
            replica.setBytesAcked(BYTES);
            if (replica.getReplicaInfo().getBytesReserved() > 0) {
                replica.releaseAllBytesReserved();
            }
        }
    }

    @Test
    void the_space_of_a_replica_that_is_given_up_while_it_is_written_is_given_back_once() throws Exception {
        try (TierCluster cluster = begun()) {
            ExtendedBlock block = located(cluster).getBlock();
            ReplicaInfo shared = cluster.replica(block);
            FsVolumeImpl ssd = cluster.volume(StorageType.SSD);
            cluster.dataset().volumeMap.remove(block.getBlockPoolId(), block.getLocalBlock());
            block.setNumBytes(TierCluster.BLOCK);
            ssd.reserveSpaceForReplica(TierCluster.BLOCK); // for another one
            CompletableFuture<ReplicaInfo> own = new CompletableFuture<>();
            CompletableFuture<Doing> settles = new CompletableFuture<>();
            Doing writer = new Doing(() -> {
                Thread me = Thread.currentThread();
                writeUntilStopped(cluster, block, own, () -> {
                    while (!settles.join().isHeldUpBy(me)) {
                        Thread.yield(); // it may be interrupted once more meanwhile
                    }
                });
                return null;
            });
            assertEquals(ReplicaState.RBW, own.get().getState());
            settles.complete(settle(cluster, shared));
            settles.join().end();
            writer.end();
            assertSame(shared, cluster.replica(block));
            assertFalse(own.get().blockDataExists());
            assertEquals(TierCluster.BLOCK, ssd.getReservedForReplicas());
            assertArrayEquals(TierCluster.content("file", BYTES), read(cluster));
        }
    }

    @Test
    void no_replica_takes_the_place_of_one_that_is_moved() throws Exception {
        try (TierCluster cluster = begun()) {
            ExtendedBlock block = located(cluster).getBlock();
            ReplicaInfo shared = cluster.replica(block);
            ReplicaInfo own = new ReplicaBuilder(ReplicaState.FINALIZED).setBlock(block.getLocalBlock())
                .setFsVolume(cluster.volume(StorageType.SSD)).setDirectoryToUse(work.toFile()).build();
            cluster.dataset().volumeMap.add(block.getBlockPoolId(), own);
            Doing settles = cluster.dataset().guard().move(block.getBlockId(), () -> {
                Doing waits = settle(cluster, shared);
                while (!waits.isHeldUpBy(Thread.currentThread())) {
                    Thread.yield();
                }
                assertSame(own, cluster.replica(block));
                return waits;
            });
            settles.end();
            assertSame(shared, cluster.replica(block));
        }
    }

    /** Writes a replica on the SSD, in spite of all interrupts, until it is told to end. */
    private static Doing write(TierCluster cluster, ExtendedBlock block, CompletableFuture<ReplicaInfo> begun,
            CompletableFuture<Void> ends) {
        return new Doing(() -> {
            try (ReplicaHandler made = cluster.dataset().createRbw(StorageType.SSD, null, block, false, 0)) {
                begun.complete(made.getReplica().getReplicaInfo());
                ends.join();
                return null;
            }
        });
    }

    @Test
    void an_interrupt_stops_an_adoption_that_waits_for_a_writer_and_nothing_is_decided() throws Exception {
        try (TierCluster cluster = begun()) {
            ExtendedBlock block = located(cluster).getBlock();
            Path data = cluster.volume(StorageType.ARCHIVE).getCurrentDir().toPath().getParent();
            SharedVolumes volumes = cluster.dataset().sharedVolumes();
            volumes.lost(data);
            CompletableFuture<ReplicaInfo> own = new CompletableFuture<>();
            CompletableFuture<Void> ends = new CompletableFuture<>();
            Doing writer = write(cluster, block, own, ends);
            ReplicaInfo written = own.get();
            Doing adopts = new Doing(() -> {
                assertThrows(InterruptedIOException.class, () -> volumes.serve(data));
                assertTrue(Thread.interrupted());
                return null;
            });
            LocalHdfs.until("the adoption waits for the writer", () -> adopts.isHeldUpBy(writer));
            adopts.interrupt();
            adopts.end();
            assertSame(written, cluster.replica(block));
            assertTrue(written.blockDataExists());
            assertTrue(cluster.dataset().getVolumeList().stream().noneMatch(SharedVolume.class::isInstance));
            ends.complete(null);
            writer.end();
            volumes.serve(data);
            assertEquals(StorageType.ARCHIVE, cluster.kept(block));
            assertFalse(written.blockDataExists());
        }
    }

    /** Writes until it is interrupted and another writer is, too. Its replica is given up later. */
    private static Doing writeTogether(TierCluster cluster, ExtendedBlock block, CompletableFuture<ReplicaInfo> begun,
            CountDownLatch interrupts, CompletableFuture<Void> all) {
        return new Doing(() -> {
            try (ReplicaHandler made = cluster.dataset().createRbw(StorageType.SSD, null, block, false, 0)) {
                ReplicaInfo replica = made.getReplica().getReplicaInfo();
                begun.complete(replica);
                assertThrows(InterruptedException.class, () -> Thread.sleep(Long.MAX_VALUE));
                interrupts.countDown();
                if (interrupts.getCount() == 0) {
                    all.complete(null);
                }
                all.join();
                assertSame(replica, cluster.replica(block));
                return null;
            }
        });
    }

    @Test
    void writers_of_several_replicas_are_interrupted_before_one_of_them_is_waited_for() throws Exception {
        try (TierCluster cluster = begun()) {
            ExtendedBlock block = located(cluster).getBlock();
            String pool = block.getBlockPoolId();
            ReplicaInfo shared = cluster.replica(block);
            cluster.dataset().volumeMap.remove(pool, block.getLocalBlock());
            ExtendedBlock second = new ExtendedBlock(pool, block.getBlockId() + 1, BYTES, block.getGenerationStamp());
            ReplicaInfo other = new ReplicaBuilder(ReplicaState.FINALIZED).setBlock(second.getLocalBlock())
                .setFsVolume(cluster.volume(StorageType.ARCHIVE)).setDirectoryToUse(work.toFile()).build();
            CompletableFuture<ReplicaInfo> begun = new CompletableFuture<>();
            CompletableFuture<ReplicaInfo> begunToo = new CompletableFuture<>();
            CompletableFuture<Void> all = new CompletableFuture<>();
            CountDownLatch interrupts = new CountDownLatch(2);
            Doing one = writeTogether(cluster, block, begun, interrupts, all);
            Doing two = writeTogether(cluster, second, begunToo, interrupts, all);
            begun.get();
            begunToo.get();
            cluster.dataset().sharedVolumes().settle(List.of(new SharedVolume.Twice(pool, shared),
                new SharedVolume.Twice(pool, other)));
            one.end();
            two.end();
            assertSame(shared, cluster.replica(block));
            assertSame(other, cluster.replica(second));
        }
    }
}
