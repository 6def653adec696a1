// SPDX-License-Identifier: Apache-2.0
// One block between memory and a slower volume: copies, switches, races, restarts. Nothing moves unless a test moves it.
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
import java.io.OutputStream;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.apache.hadoop.fs.StorageType;
import org.apache.hadoop.hdfs.protocol.ExtendedBlock;
import org.apache.hadoop.hdfs.server.common.HdfsServerConstants.ReplicaState;
import org.apache.hadoop.hdfs.server.datanode.ReplicaInfo;
import org.apache.hadoop.hdfs.server.protocol.BlockRecoveryCommand.RecoveringBlock;
import org.apache.hadoop.util.DiskChecker.DiskOutOfSpaceException;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.verbena.hadoop.hdfs.memory.MemoryLedger;

class TierMovesTest {
    private static final int BYTES = 66_000;
    private static final int BLOCKS = 8; // that fit

    @TempDir
    static Path work;
    private static TierCluster cluster;

    @BeforeAll
    static void start() throws Exception {
        cluster = new TierCluster(work, MemoryLedger.OWN + BLOCKS * TierCluster.WHOLE,
            Map.of("verbena.hdfs.memory.high", "100", "verbena.hdfs.memory.promote", "0", "dfs.datanode.block-pinning.enabled",
                "true"));
    }

    @AfterAll
    static void stop() throws Exception {
        cluster.close();
    }

    private static String name(ExtendedBlock block) {
        return MoveGuard.name(block.getBlockPoolId(), block.getBlockId());
    }

    private static FsVolumeImpl persist(ExtendedBlock block) throws IOException {
        return cluster.dataset().moves().persist(block.getBlockPoolId(), block.getBlockId());
    }

    private static ReplicaInfo lower(ExtendedBlock block) throws IOException {
        return cluster.dataset().moves().lower(block.getBlockPoolId(), block.getBlockId());
    }

    private static ReplicaInfo raise(ExtendedBlock block) throws IOException {
        return cluster.dataset().moves().raise(block.getBlockPoolId(), block.getBlockId());
    }

    private static String lowerRefused(ExtendedBlock block) {
        return assertThrows(IOException.class, () -> lower(block)).getMessage();
    }

    private static void append(String name, int bytes) throws IOException {
        try (OutputStream out = cluster.files().append(TierCluster.path(name))) {
            out.write(TierCluster.content(name + "more", bytes));
        }
    }

    private static void assertHas(String name, int bytes, int more) throws IOException {
        byte[] whole = Arrays.copyOf(TierCluster.content(name, bytes), bytes + more);
        System.arraycopy(TierCluster.content(name + "more", more), 0, whole, bytes, more);
        assertArrayEquals(whole, cluster.read(name));
    }

    private static Path only(List<Path> found) {
        assertEquals(1, found.size(), found.toString());
        return found.get(0);
    }

    private static void damage(Path file) throws IOException {
        try (FileChannel open = FileChannel.open(file, StandardOpenOption.WRITE)) {
            open.write(ByteBuffer.wrap(new byte[16]), 1000);
        }
    }

    // --------------------------------------------------------------------------------------------- copies

    @Test
    void a_replica_of_the_shared_path_leaves_no_copy_of_the_one_it_replaces() throws Exception {
        ExtendedBlock block = cluster.write("replaced", BYTES);
        persist(block);
        only(cluster.found("ssd", block));
        cluster.dataset().dropCopy(block.getBlockPoolId(), block.getBlockId());
        assertEquals(List.of(), cluster.found("ssd", block));
        assertFalse(cluster.dataset().copies().has(name(block)));
        cluster.dataset().dropCopy(block.getBlockPoolId(), block.getBlockId()); // there is none
        assertHas("replaced", BYTES, 0);
    }

    @Test
    void a_copy_has_the_blocks_bytes_in_hadoops_own_folder_and_changes_nothing_for_the_name_node() throws Exception {
        ExtendedBlock block = cluster.write("copied", BYTES);
        assertEquals(StorageType.SSD, persist(block).getStorageType());
        Path copy = only(cluster.found("ssd", block));
        assertTrue(copy.toString().contains("/lazypersist/"), copy.toString());
        assertArrayEquals(TierCluster.content("copied", BYTES), Files.readAllBytes(copy));
        assertEquals(StorageType.NVDIMM, cluster.kept(block));
        assertEquals(StorageType.NVDIMM, cluster.told("copied"));
        persist(block);
        only(cluster.found("ssd", block));
    }

    @Test
    void a_damaged_replica_gets_no_copy_and_the_name_node_hears_of_it() throws Exception {
        ExtendedBlock block = cluster.write("damaged", BYTES);
        damage(only(cluster.found("memory", block)));
        assertThrows(VerifiedCopy.DamagedException.class, () -> persist(block));
        assertEquals(List.of(), cluster.found("ssd", block));
        assertThrows(VerifiedCopy.DamagedException.class, () -> lower(block));
        assertEquals(StorageType.NVDIMM, cluster.kept(block));
        TierCluster.until("the NameNode knows of the damage", () -> {
            try {
                return cluster.files().getClient().getLocatedBlocks(TierCluster.path("damaged").toString(), 0).get(0).isCorrupt();
            } catch (IOException e) {
                throw new AssertionError(e);
            }
        });
        cluster.delete("damaged", block);
    }

    @Test
    void a_copy_that_differs_is_found_out_and_is_not_blamed_on_the_replica() throws Exception {
        ExtendedBlock block = cluster.write("differs", BYTES);
        ReplicaInfo replica = cluster.replica(block);
        Path data = Files.copy(Path.of(replica.getBlockURI()), work.resolve("wrong"));
        Path meta = Files.copy(Path.of(replica.getMetadataURI()), work.resolve("wrong.meta"));
        VerifiedCopy.verify(replica, data, meta);
        damage(data);
        IOException wrong = assertThrows(IOException.class, () -> VerifiedCopy.verify(replica, data, meta));
        assertFalse(wrong instanceof VerifiedCopy.DamagedException);
        assertTrue(wrong.getMessage().startsWith("the copy " + data + " is wrong"), wrong.getMessage());
        Files.write(data, TierCluster.content("differs", BYTES - 1));
        assertThrows(IOException.class, () -> VerifiedCopy.verify(replica, data, meta));
    }

    @Test
    void a_copy_goes_with_its_block() throws Exception {
        ExtendedBlock block = cluster.write("gone", BYTES);
        persist(block);
        only(cluster.found("ssd", block));
        cluster.delete("gone", block);
    }

    // --------------------------------------------------------------------------------------------- switches

    @Test
    void a_block_that_leaves_memory_is_whole_below_and_frees_its_memory() throws Exception {
        long before = cluster.dataset().ledger().used();
        ExtendedBlock block = cluster.write("left", BYTES);
        assertTrue(cluster.dataset().ledger().used() > before);
        assertEquals(StorageType.SSD, lower(block).getVolume().getStorageType());
        assertEquals(before, cluster.dataset().ledger().used());
        assertEquals(List.of(), cluster.found("memory", block));
        assertTrue(only(cluster.found("ssd", block)).toString().contains("/finalized/"));
        cluster.untilTold("left", StorageType.SSD);
        assertHas("left", BYTES, 0);
        assertNull(lower(block), "it is in memory no longer");
    }

    @Test
    void a_reader_of_a_block_that_leaves_memory_reads_on() throws Exception {
        ExtendedBlock block = cluster.write("reading", TierCluster.BLOCK);
        long before = cluster.dataset().ledger().used();
        try (InputStream in = cluster.dataset().getBlockInputStream(block, 0)) {
            byte[] first = in.readNBytes(1000);
            lower(block);
            byte[] rest = in.readAllBytes();
            assertEquals(TierCluster.BLOCK, first.length + rest.length);
            assertArrayEquals(Arrays.copyOfRange(TierCluster.content("reading", TierCluster.BLOCK), 1000, TierCluster.BLOCK), rest);
            assertEquals(TierCluster.BLOCK, cluster.dataset().ledger().held());
        }
        assertEquals(before - TierCluster.WHOLE, cluster.dataset().ledger().used());
    }

    @Test
    void a_block_comes_into_memory_and_leaves_it_again_without_a_second_copy() throws Exception {
        ExtendedBlock block = cluster.write("updown", BYTES);
        lower(block);
        Object file = Files.getAttribute(only(cluster.found("ssd", block)), "unix:ino");
        assertEquals(StorageType.NVDIMM, raise(block).getVolume().getStorageType());
        cluster.untilTold("updown", StorageType.NVDIMM);
        assertTrue(only(cluster.found("ssd", block)).toString().contains("/lazypersist/"));
        only(cluster.found("memory", block));
        assertHas("updown", BYTES, 0);
        lower(block);
        cluster.untilTold("updown", StorageType.SSD);
        Path below = only(cluster.found("ssd", block));
        assertEquals(file, Files.getAttribute(below, "unix:ino"));
        assertEquals(1, Files.getAttribute(below, "unix:nlink"));
        assertHas("updown", BYTES, 0);
    }

    @Test
    void a_memory_whose_file_system_others_fill_takes_no_block_and_says_so() throws Exception {
        ExtendedBlock block = cluster.write("foreign", BYTES);
        lower(block);
        MemoryVolume memory = (MemoryVolume) cluster.volume(StorageType.NVDIMM);
        long before = memory.ledger().used();
        memory.reserveSpaceForReplica(Long.MAX_VALUE / 4);
        try {
            String why = assertThrows(DiskOutOfSpaceException.class, () -> raise(block)).getMessage();
            assertTrue(why.startsWith("other programs fill the memory tier's file system: -"), why);
            ExtendedBlock fresh = new ExtendedBlock(block.getBlockPoolId(), 4711, BYTES, 1);
            assertThrows(DiskOutOfSpaceException.class, () -> memory.createRbw(fresh));
            assertEquals(List.of(), cluster.found("memory", fresh));
        } finally {
            memory.releaseReservedSpace(Long.MAX_VALUE / 4);
        }
        assertEquals(before, memory.ledger().used());
        assertNotNull(raise(block));
    }

    @Test
    void a_block_comes_into_a_full_memory_not_at_all() throws Exception {
        ExtendedBlock block = cluster.write("late", TierCluster.BLOCK);
        lower(block);
        MemoryLedger ledger = cluster.dataset().ledger();
        assertTrue(ledger.open("pool/others", ledger.limit() - ledger.used() - TierCluster.WHOLE + 1, 0, true));
        assertThrows(DiskOutOfSpaceException.class, () -> raise(block));
        assertEquals(StorageType.SSD, cluster.kept(block));
        assertEquals(List.of(), cluster.found("memory", block));
        assertTrue(ledger.used() <= ledger.limit());
        ledger.drop("pool/others");
        assertNotNull(raise(block));
    }

    @Test
    void a_block_of_favoured_nodes_stays_pinned_wherever_it_moves() throws Exception {
        ExtendedBlock block = cluster.write("pinned", BYTES);
        assertFalse(cluster.dataset().getPinning(block));
        cluster.dataset().setPinning(block);
        lower(block);
        assertTrue(cluster.dataset().getPinning(block));
        raise(block);
        assertTrue(cluster.dataset().getPinning(block));
        append("pinned", 100);
        assertEquals(StorageType.SSD, cluster.kept(block));
        assertTrue(cluster.dataset().getPinning(cluster.block("pinned")));
    }

    // --------------------------------------------------------------------------------------------- races

    @Test
    void an_append_goes_to_the_copy() throws Exception {
        ExtendedBlock block = cluster.write("appended", BYTES);
        persist(block);
        append("appended", 100);
        assertEquals(StorageType.SSD, cluster.kept(block));
        cluster.untilTold("appended", StorageType.SSD);
        assertEquals(List.of(), cluster.found("memory", block));
        assertTrue(only(cluster.found("ssd", block)).toString().contains("/finalized/"));
        assertHas("appended", BYTES, 100);
    }

    @Test
    void a_copy_that_is_made_while_somebody_appends_is_thrown_away() throws Exception {
        ExtendedBlock block = cluster.write("raced", BYTES);
        ReplicaInfo before = cluster.replica(block);
        append("raced", 100);
        assertThrows(IOException.class, () -> cluster.dataset().copies().make(block.getBlockPoolId(), before));
        assertEquals(List.of(), cluster.found("ssd", block));
        assertHas("raced", BYTES, 100);
        assertTrue(cluster.dataset().guard().change(block.getBlockPoolId(), block.getBlockId(), () -> lowerRefused(block))
            .contains("it is being changed"));
        assertEquals(List.of(), cluster.found("ssd", block));
        assertNotNull(lower(block));
        assertHas("raced", BYTES, 100);
    }

    @Test
    void a_block_that_is_being_written_stays_and_one_that_is_being_deleted_too() throws Exception {
        ExtendedBlock block;
        try (OutputStream out = cluster.files().create(TierCluster.path("open"))) {
            out.write(1);
            ((org.apache.hadoop.fs.FSDataOutputStream) out).hflush();
            block = cluster.block("open");
            assertEquals(ReplicaState.RBW, cluster.replica(block).getState());
            assertNull(persist(block));
            assertNull(lower(block));
        }
        ExtendedBlock leaving = cluster.block("open");
        cluster.dataset().guard().leaves(leaving.getBlockPoolId(), leaving.getBlockId());
        assertTrue(lowerRefused(leaving).contains("it is deleted"));
        cluster.delete("open", leaving);
    }

    @Test
    void a_recovery_takes_the_copy_and_keeps_every_byte() throws Exception {
        ExtendedBlock block = cluster.write("recovered", BYTES);
        persist(block);
        long stamp = block.getGenerationStamp() + 1000;
        assertNotNull(cluster.dataset().initReplicaRecovery(new RecoveringBlock(block, null, stamp)));
        assertEquals(StorageType.SSD, cluster.kept(block));
        assertNull(lower(block));
        assertNull(raise(block));
        cluster.dataset().updateReplicaUnderRecovery(block, stamp, block.getBlockId(), BYTES);
        assertArrayEquals(TierCluster.content("recovered", BYTES), Files.readAllBytes(only(cluster.found("ssd", block))));
        assertEquals(List.of(), cluster.found("memory", block));
    }

    // --------------------------------------------------------------------------------------------- others that move

    @Test
    void the_mover_takes_the_copy_or_leaves_none() throws Exception {
        ExtendedBlock same = cluster.write("moved1", BYTES);
        ExtendedBlock other = cluster.write("moved2", BYTES);
        persist(same);
        persist(other);
        cluster.dataset().moveBlockAcrossStorage(same, StorageType.SSD, null);
        cluster.dataset().moveBlockAcrossStorage(other, StorageType.DISK, null);
        cluster.untilTold("moved1", StorageType.SSD);
        cluster.untilTold("moved2", StorageType.DISK);
        assertTrue(only(cluster.found("ssd", same)).toString().contains("/finalized/"));
        assertEquals(List.of(), cluster.found("ssd", other));
        for (ExtendedBlock block : List.of(same, other)) {
            assertEquals(List.of(), cluster.found("memory", block));
        }
        assertHas("moved1", BYTES, 0);
        assertHas("moved2", BYTES, 0);
        assertEquals(StorageType.NVDIMM, raise(other).getVolume().getStorageType());
        assertTrue(only(cluster.found("disk", other)).toString().contains("/lazypersist/"));
    }

    @Test
    void a_copy_takes_the_place_of_a_file_in_memory_that_is_gone() throws Exception {
        ExtendedBlock block = cluster.write("lost", BYTES);
        persist(block);
        Files.delete(only(cluster.found("memory", block)));
        cluster.dataset().invalidateMissingBlock(block.getBlockPoolId(), block.getLocalBlock());
        assertEquals(StorageType.SSD, cluster.kept(block));
        assertHas("lost", BYTES, 0);
        ExtendedBlock second = cluster.write("lost2", BYTES);
        persist(second);
        cluster.dataset().handleVolumeFailures(Set.of(cluster.volume(StorageType.NVDIMM)));
        assertEquals(StorageType.SSD, cluster.kept(second));
        assertHas("lost2", BYTES, 0);
    }
}
