// SPDX-License-Identifier: Apache-2.0
// Hadoop's own moves of replicas between volumes (mover, disk balancer) against readers, appends, recoveries, deletions, scans.
package org.apache.hadoop.hdfs.server.datanode.fsdataset.impl;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.net.URI;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import org.apache.hadoop.fs.StorageType;
import org.apache.hadoop.hdfs.protocol.Block;
import org.apache.hadoop.hdfs.protocol.ExtendedBlock;
import org.apache.hadoop.hdfs.server.common.AutoCloseDataSetLock;
import org.apache.hadoop.hdfs.server.common.DataNodeLockManager.LockLevel;
import org.apache.hadoop.hdfs.server.common.HdfsServerConstants.ReplicaState;
import org.apache.hadoop.hdfs.server.datanode.FinalizedReplica;
import org.apache.hadoop.hdfs.server.datanode.ReplicaInfo;
import org.apache.hadoop.hdfs.server.datanode.fsdataset.FsVolumeReference;
import org.apache.hadoop.hdfs.server.datanode.fsdataset.FsVolumeSpi.ScanInfo;
import org.apache.hadoop.hdfs.server.protocol.BlockRecoveryCommand.RecoveringBlock;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class StockMovesTest {
    private static final int BYTES = 66_000;

    @TempDir
    static Path work;
    private static TierCluster cluster;

    @BeforeAll
    static void start() throws Exception {
        cluster = new TierCluster(work, 64 * TierCluster.WHOLE, Map.of());
    }

    @AfterAll
    static void stop() throws Exception {
        cluster.close();
    }

    private static ReplicaInfo copied(ExtendedBlock block, StorageType to) throws IOException {
        FsVolumeReference reference = cluster.volume(to).obtainReference();
        try {
            return cluster.dataset().copyReplicaToVolume(block, cluster.replica(block), reference);
        } finally {
            reference.close();
        }
    }

    private static String refusal(ReplicaInfo copy, ExtendedBlock block) {
        return assertThrows(IOException.class, () -> cluster.dataset().finalizeNewReplica(copy, block)).getMessage();
    }

    @Test
    void a_move_whose_copy_is_ready_loses_against_a_recovery() throws Exception {
        ExtendedBlock block = cluster.write("recovered", BYTES);
        ReplicaInfo copy = copied(block, StorageType.SSD);
        long stamp = block.getGenerationStamp() + 1000;
        assertNotNull(cluster.dataset().initReplicaRecovery(new RecoveringBlock(block, null, stamp)));
        assertTrue(refusal(copy, block).contains("its state is RUR"));
        assertEquals(0, cluster.found("ssd", block).size());
        cluster.dataset().updateReplicaUnderRecovery(block, stamp, block.getBlockId(), BYTES);
        assertEquals(stamp, cluster.replica(block).getGenerationStamp());
        assertEquals(StorageType.NVDIMM, cluster.kept(block));
    }

    @Test
    void a_move_loses_against_an_append_that_holds_its_volume() throws Exception {
        ExtendedBlock block = cluster.write("held", BYTES);
        ReplicaInfo old = cluster.replica(block);
        ReplicaInfo copy = copied(block, StorageType.SSD);
        Throwable[] seen = new Throwable[1];
        Thread move = new Thread(() -> seen[0] = assertThrows(IOException.class,
            () -> cluster.dataset().finalizeNewReplica(copy, block)));
        long stamp = block.getGenerationStamp() + 1;
        AutoCloseDataSetLock lock = cluster.dataset().acquireDatasetLockManager().writeLock(LockLevel.VOLUME,
            block.getBlockPoolId(), old.getStorageUuid());
        try {
            move.start();
            TierCluster.until("the move waits for the lock or has ended",
                () -> move.getState() == Thread.State.WAITING || !move.isAlive());
            assertTrue(move.isAlive(), "the move did not wait for the append");
            old.bumpReplicaGS(stamp);
        } finally {
            lock.close();
        }
        move.join();
        assertTrue(seen[0].getMessage().contains("its generation stamp is " + stamp), seen[0].getMessage());
        assertEquals(stamp, cluster.replica(block).getGenerationStamp());
    }

    @Test
    void a_move_into_memory_that_loses_against_a_deletion_gives_its_room_back() throws Exception {
        ExtendedBlock block = cluster.write("deleted", BYTES);
        cluster.dataset().moveBlockAcrossStorage(block, StorageType.SSD, null);
        long before = cluster.dataset().ledger().used();
        ReplicaInfo copy = copied(block, StorageType.NVDIMM);
        assertTrue(cluster.dataset().ledger().used() > before);
        cluster.files().delete(TierCluster.path("deleted"), false);
        TierCluster.until("the replica is deleted", () -> cluster.replica(block) == null);
        assertTrue(refusal(copy, block).contains("it is deleted"));
        assertEquals(before, cluster.dataset().ledger().used());
        assertEquals(0, cluster.found("memory", block).size());
    }

    @Test
    void a_move_waits_for_the_end_of_another_one_of_its_block_which_deletes_files_by_name() throws Exception {
        ExtendedBlock block = cluster.write("twice", BYTES);
        Thread second = new Thread(() -> {
            try {
                cluster.dataset().moveBlockAcrossStorage(block, StorageType.SSD, null);
            } catch (IOException e) {
                throw new UncheckedIOException(e);
            }
        });
        cluster.dataset().guard().move(block.getBlockId(), () -> {
            second.start();
            try {
                TierCluster.until("the second move waits or has ended",
                    () -> second.getState() == Thread.State.BLOCKED || !second.isAlive());
            } catch (InterruptedException e) {
                throw new IOException(e);
            }
            assertEquals(StorageType.NVDIMM, cluster.kept(block));
            return null;
        });
        second.join();
        assertEquals(StorageType.SSD, cluster.kept(block));
        assertArrayEquals(TierCluster.content("twice", BYTES), cluster.read("twice"));
    }

    @Test
    void a_copy_of_a_replica_that_goes_away_meanwhile_leaves_no_file() throws Exception {
        ExtendedBlock block = cluster.write("part", BYTES);
        ReplicaInfo replica = cluster.replica(block);
        ReplicaInfo gone = new FinalizedReplica((FinalizedReplica) replica) {
            @Override
            public void copyBlockdata(URI to) throws IOException {
                Files.write(Path.of(to), new byte[1000]);
                throw new IOException("an append has moved the file");
            }
        };
        FsVolumeReference reference = cluster.volume(StorageType.DISK).obtainReference();
        try {
            assertThrows(IOException.class, () -> cluster.dataset().copyReplicaToVolume(block, gone, reference));
        } finally {
            reference.close();
        }
        assertEquals(0, cluster.found("disk", block).size());
    }

    /** A replica that moves to another tier as soon as somebody wants its file. */
    private static class Moving extends FinalizedReplica {
        private boolean moved;

        Moving(ReplicaInfo replica) {
            super((FinalizedReplica) replica);
        }

        private void move() {
            if (!moved) {
                moved = true;
                try {
                    cluster.dataset().moveBlockAcrossStorage(new ExtendedBlock(cluster.block("moved").getBlockPoolId(), this),
                        StorageType.SSD, null);
                } catch (IOException e) {
                    throw new UncheckedIOException(e);
                }
            }
        }

        @Override
        public InputStream getDataInputStream(long offset) throws IOException {
            move();
            return super.getDataInputStream(offset);
        }

        @Override
        public boolean blockDataExists() {
            move();
            return super.blockDataExists();
        }
    }

    @Test
    void a_file_that_moves_between_the_look_up_and_its_use_is_found_in_its_new_place() throws Exception {
        ExtendedBlock block = cluster.write("moved", BYTES);
        cluster.dataset().volumeMap.add(block.getBlockPoolId(), new Moving(cluster.replica(block)) {
            @Override
            public boolean blockDataExists() {
                return true;
            }
        });
        try (InputStream in = cluster.dataset().getBlockInputStream(block, 0)) {
            assertArrayEquals(TierCluster.content("moved", BYTES), in.readAllBytes());
        }
        cluster.dataset().moveBlockAcrossStorage(block, StorageType.NVDIMM, null);
        cluster.dataset().volumeMap.add(block.getBlockPoolId(), new Moving(cluster.replica(block)));
        cluster.dataset().checkBlock(block, BYTES, ReplicaState.FINALIZED);
        assertEquals(StorageType.SSD, cluster.kept(block));
    }

    @Test
    void a_replica_is_forgotten_only_when_it_is_nowhere() throws Exception {
        ExtendedBlock block = cluster.write("there", BYTES);
        cluster.dataset().invalidateMissingBlock(block.getBlockPoolId(), block.getLocalBlock());
        assertNotNull(cluster.replica(block));
        Files.delete(Path.of(cluster.replica(block).getBlockURI()));
        cluster.dataset().invalidateMissingBlock(block.getBlockPoolId(), block.getLocalBlock());
        assertNull(cluster.replica(block));
    }

    @Test
    void a_scan_that_saw_a_replica_before_an_append_does_not_call_it_corrupt() throws Exception {
        ExtendedBlock block = cluster.write("scanned", BYTES);
        ReplicaInfo replica = cluster.replica(block);
        Path data = Path.of(replica.getBlockURI());
        ScanInfo seen = new ScanInfo(block.getBlockId(), data.getParent().toFile(), data.getFileName().toString(),
            Path.of(replica.getMetadataURI()).getFileName().toString(), replica.getVolume());
        try (var out = cluster.files().append(TierCluster.path("scanned"))) {
            out.write(1);
        }
        assertFalse(seen.getMetaFile().exists());
        cluster.dataset().checkAndUpdate(block.getBlockPoolId(), seen);
        Block now = cluster.replica(block);
        assertEquals(BYTES + 1, now.getNumBytes());
        cluster.write("later", 1);
        cluster.untilTold("later", StorageType.NVDIMM);
        assertEquals(StorageType.NVDIMM, cluster.told("scanned"));
        assertEquals(0, cluster.files().getClient().getCorruptBlocksCount());
    }
}
