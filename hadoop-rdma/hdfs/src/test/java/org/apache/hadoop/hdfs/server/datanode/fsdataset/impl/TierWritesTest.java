// SPDX-License-Identifier: Apache-2.0
// Writers and readers of a DataNode that moves blocks by itself, and makes copies before a writer hears that a block is finished.
package org.apache.hadoop.hdfs.server.datanode.fsdataset.impl;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.io.OutputStream;
import java.nio.file.Path;
import java.util.EnumSet;
import java.util.List;
import java.util.Map;
import org.apache.hadoop.fs.FSDataOutputStream;
import org.apache.hadoop.fs.StorageType;
import org.apache.hadoop.hdfs.client.HdfsDataOutputStream;
import org.apache.hadoop.hdfs.client.HdfsDataOutputStream.SyncFlag;
import org.apache.hadoop.hdfs.protocol.ExtendedBlock;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.verbena.hadoop.hdfs.memory.MemoryLedger;

class TierWritesTest {
    private static final int BYTES = 66_000;
    private static final int BLOCKS = 6; // that fit

    @TempDir
    Path work;
    private TierCluster cluster;

    @BeforeEach
    void begin() throws Exception {
        cluster = new TierCluster(work, MemoryLedger.OWN + BLOCKS * TierCluster.WHOLE,
            Map.of("verbena.hdfs.memory.persist", "sync", "dfs.client.block.write.locateFollowingBlock.retries", "1"));
    }

    @AfterEach
    void end() throws Exception {
        cluster.close();
    }

    private boolean hasCopy(ExtendedBlock block) {
        return cluster.dataset().copies().has(MoveGuard.name(block.getBlockPoolId(), block.getBlockId()));
    }

    @Test
    void close_waits_for_the_copy_and_reads_bring_the_block_back_into_memory() throws Exception {
        ExtendedBlock block = cluster.write("sync", BYTES);
        assertTrue(hasCopy(block));
        cluster.dataset().moves().lower(block.getBlockPoolId(), block.getBlockId());
        cluster.untilTold("sync", StorageType.SSD);
        for (int i = 0; i < 3; i++) {
            assertArrayEquals(TierCluster.content("sync", BYTES), cluster.read("sync"));
        }
        cluster.untilTold("sync", StorageType.NVDIMM);
        assertArrayEquals(TierCluster.content("sync", BYTES), cluster.read("sync"));
        assertTrue(hasCopy(block));
        assertEquals(1, cluster.dataset().manager().promotions());
    }

    @Test
    void close_fails_when_there_is_no_room_for_the_copy() throws Exception {
        List<FsVolumeImpl> below = List.of(cluster.volume(StorageType.SSD), cluster.volume(StorageType.DISK));
        for (FsVolumeImpl volume : below) {
            volume.reserveSpaceForReplica(Long.MAX_VALUE / 4);
        }
        assertThrows(IOException.class, () -> cluster.write("refused", BYTES));
        assertTrue(cluster.dataset().manager().failures() > 0);
        assertEquals(0, cluster.files().getFileStatus(TierCluster.path("refused")).getLen());
        below.forEach(volume -> volume.releaseReservedSpace(Long.MAX_VALUE / 4));
        assertTrue(hasCopy(cluster.write("taken", BYTES)));
    }

    @Test
    void hsync_that_ends_a_block_waits_for_its_copy() throws Exception {
        byte[] content = TierCluster.content("ended", BYTES);
        try (FSDataOutputStream out = cluster.files().create(TierCluster.path("ended"))) {
            out.write(content);
            ((HdfsDataOutputStream) out).hsync(EnumSet.of(SyncFlag.END_BLOCK));
            assertTrue(hasCopy(cluster.block("ended")));
        }
        assertArrayEquals(content, cluster.read("ended"));
    }

    @Test
    void a_file_larger_than_memory_that_stays_open_is_written_to_its_end() throws Exception {
        byte[] content = TierCluster.content("long", 2 * BLOCKS * TierCluster.BLOCK);
        try (OutputStream out = cluster.files().create(TierCluster.path("long"))) {
            out.write(content);
            assertTrue(cluster.dataset().ledger().used() <= cluster.dataset().ledger().limit());
        }
        assertArrayEquals(content, cluster.read("long"));
        assertTrue(cluster.dataset().ledger().used() <= cluster.dataset().ledger().limit());
    }
}
