// SPDX-License-Identifier: Apache-2.0
// What a DataNode finds after its end, after the loss of its memory, and without the mode.
package org.apache.hadoop.hdfs.server.datanode.fsdataset.impl;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.io.OutputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import org.apache.hadoop.fs.StorageType;
import org.apache.hadoop.hdfs.protocol.ExtendedBlock;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.verbena.hadoop.hdfs.memory.MemoryLedger;

class TierRestartTest {
    private static final int BYTES = 66_000;

    @TempDir
    Path work;
    private TierCluster cluster;

    @BeforeEach
    void begin() throws Exception {
        cluster = new TierCluster(work, MemoryLedger.OWN + 8 * TierCluster.WHOLE,
            Map.of("verbena.hdfs.memory.high", "100", "verbena.hdfs.memory.promote", "0"));
    }

    @AfterEach
    void end() throws Exception {
        cluster.close();
    }

    private ExtendedBlock persisted(String name) throws IOException {
        ExtendedBlock block = cluster.write(name, BYTES);
        cluster.dataset().moves().persist(block.getBlockPoolId(), block.getBlockId());
        return block;
    }

    private static Path only(List<Path> found) {
        assertEquals(1, found.size(), found.toString());
        return found.get(0);
    }

    private void damage(Path file) throws IOException {
        byte[] all = Files.readAllBytes(file);
        all[1000] ^= 1;
        Files.write(file, all);
    }

    private boolean hasCopy(ExtendedBlock block) {
        return cluster.dataset().copies().has(MoveGuard.name(block.getBlockPoolId(), block.getBlockId()));
    }

    @Test
    void copies_are_copies_again_and_are_compared_before_somebody_relies_on_them() throws Exception {
        ExtendedBlock good = persisted("good");
        ExtendedBlock bad = persisted("bad");
        Files.write(Path.of(only(cluster.found("ssd", good)) + ".part"), new byte[10]); // of a copy that was not finished
        cluster.stop();
        damage(only(cluster.found("ssd", bad)));
        cluster.start();
        cluster.untilTold("good", StorageType.NVDIMM);
        cluster.untilTold("bad", StorageType.NVDIMM);
        for (ExtendedBlock block : List.of(good, bad)) {
            assertTrue(hasCopy(block));
            assertTrue(only(cluster.found("ssd", block)).toString().contains("/lazypersist/"));
        }
        TierMoves moves = cluster.dataset().moves();
        assertEquals(StorageType.SSD, moves.lower(good.getBlockPoolId(), good.getBlockId()).getVolume().getStorageType());
        assertThrows(IOException.class, () -> moves.lower(bad.getBlockPoolId(), bad.getBlockId()));
        assertFalse(hasCopy(bad));
        assertEquals(StorageType.NVDIMM, cluster.kept(bad));
        moves.lower(bad.getBlockPoolId(), bad.getBlockId());
        for (String name : List.of("good", "bad")) {
            cluster.untilTold(name, StorageType.SSD);
            assertArrayEquals(TierCluster.content(name, BYTES), cluster.read(name));
        }
    }

    @Test
    void a_host_that_has_lost_its_memory_serves_the_copies() throws Exception {
        ExtendedBlock block = persisted("survivor");
        ExtendedBlock other = persisted("other"); // so that the volume has a replica that Hadoop lists
        cluster.dataset().moves().lower(other.getBlockPoolId(), other.getBlockId());
        cluster.stop();
        cluster.loseMemory();
        cluster.start();
        cluster.untilTold("survivor", StorageType.SSD);
        assertArrayEquals(TierCluster.content("survivor", BYTES), cluster.read("survivor"));
        assertFalse(hasCopy(block));
    }

    @Test
    void a_data_node_without_the_mode_serves_the_copies() throws Exception {
        persisted("stock");
        ExtendedBlock other = persisted("other"); // so that the volume has a replica that Hadoop lists
        cluster.dataset().moves().lower(other.getBlockPoolId(), other.getBlockId());
        cluster.stop();
        cluster.conf().set("verbena.hdfs.mode", "off");
        cluster.start();
        assertEquals(FsDatasetImpl.class, cluster.dataNode().getFSDataset().getClass());
        cluster.untilTold("stock", StorageType.SSD);
        assertArrayEquals(TierCluster.content("stock", BYTES), cluster.read("stock"));
    }

    @Test
    void of_two_replicas_the_newer_one_stays() throws Exception {
        ExtendedBlock block = persisted("newer");
        Path data = only(cluster.found("memory", block));
        Path meta = Path.of(cluster.replica(block).getMetadataURI());
        byte[] oldData = Files.readAllBytes(data);
        byte[] oldMeta = Files.readAllBytes(meta);
        try (OutputStream out = cluster.files().append(TierCluster.path("newer"))) {
            out.write(7);
        }
        assertEquals(StorageType.SSD, cluster.kept(block));
        cluster.stop();
        Files.write(data, oldData); // the DataNode was killed before it deleted them
        Files.write(meta, oldMeta);
        cluster.start();
        cluster.untilTold("newer", StorageType.SSD);
        byte[] whole = Arrays.copyOf(TierCluster.content("newer", BYTES), BYTES + 1);
        whole[BYTES] = 7;
        assertArrayEquals(whole, cluster.read("newer"));
        assertEquals(List.of(), cluster.found("memory", block));
        assertEquals(MemoryLedger.OWN, cluster.dataset().ledger().used());
    }
}
