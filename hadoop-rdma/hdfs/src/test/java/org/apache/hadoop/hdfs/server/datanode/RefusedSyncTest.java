// SPDX-License-Identifier: Apache-2.0
package org.apache.hadoop.hdfs.server.datanode;

import static org.apache.hadoop.hdfs.server.datanode.WireAsserts.assertSuccess;
import static org.apache.hadoop.hdfs.server.datanode.WireAsserts.assertSumsAreRight;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.util.Map;
import org.apache.hadoop.fs.FSDataOutputStream;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.fs.StorageType;
import org.apache.hadoop.hdfs.DistributedFileSystem;
import org.apache.hadoop.hdfs.LocalHdfs;
import org.apache.hadoop.hdfs.protocol.LocatedBlock;
import org.apache.hadoop.hdfs.protocol.proto.DataTransferProtos.Status;
import org.apache.hadoop.hdfs.server.datanode.fsdataset.FsVolumeSpi;
import org.apache.hadoop.hdfs.server.protocol.BlockRecoveryCommand.RecoveringBlock;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.verbena.hadoop.hdfs.tier.VerbenaDatasetFactory;

/** {@code hsync} of blocks in memory, where it is to fail, and of others. */
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
final class RefusedSyncTest {
    private static final int CHUNK = WireWriter.CHUNK;
    private static final Path MEMORY = new Path("/memory");

    private ReceiverCluster cluster;

    @BeforeAll
    void start(@TempDir java.nio.file.Path work) throws Exception {
        cluster = new ReceiverCluster(work, Map.of("verbena.hdfs.mode", "hhh-m", "verbena.hdfs.memory.hsync", "refuse",
            "dfs.datanode.fsdataset.factory", VerbenaDatasetFactory.class.getName(), "verbena.hdfs.memory.size", "16m",
            "verbena.hdfs.memory.dir", work.resolve("memory").toString()));
        cluster.files().mkdirs(MEMORY);
        cluster.files().setStoragePolicy(MEMORY, "ALL_NVDIMM");
    }

    @AfterAll
    void stop() throws IOException {
        cluster.close();
    }

    private FsVolumeSpi volume(LocatedBlock block) {
        return cluster.replica(block, 0).getVolume();
    }

    /** Bytes in memory that were acknowledged, and more that are to be forced: the replica when its lease is recovered. */
    private void assertRecovered(String name, boolean byCore, byte[] known) throws Exception {
        long taken = XceiverBridge.blocksTaken();
        LocatedBlock block = LocalHdfs.allocate(cluster.files(), MEMORY + "/" + name + byCore, WireWriter.CLIENT);
        try (WireWriter writer = byCore ? new WireWriter(cluster, block) : WireWriter.byTcp(block)) {
            assertEquals(Status.SUCCESS, writer.create(1).status());
            if (known.length > 0) {
                assertSuccess(writer.send(0, 0, known).ack(), 0, 1);
            }
            assertTrue(writer.send(writer.packet(1, known.length, LocalHdfs.content(CHUNK), true)).hasEnded());
        }
        assertEquals(byCore ? taken + 1 : taken, XceiverBridge.blocksTaken());
        assertEquals(StorageType.NVDIMM, volume(block).getStorageType());
        assertEquals(known.length, cluster.node(block, 0).getFSDataset().initReplicaRecovery(new RecoveringBlock(block.getBlock(),
            block.getLocations(), block.getBlock().getGenerationStamp() + 1)).getNumBytes());
        java.nio.file.Path data = cluster.replicas(block.getBlock()).get(0);
        assertArrayEquals(known, Files.readAllBytes(data));
        assertSumsAreRight(data, block.getBlock(), known);
    }

    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void bytes_in_memory_are_not_acknowledged_and_those_before_are_recovered(boolean byCore) throws Exception {
        assertRecovered("bytes", byCore, LocalHdfs.content(2 * CHUNK));
    }

    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void a_block_whose_first_bytes_are_refused_is_recovered_without_bytes(boolean byCore) throws Exception {
        assertRecovered("first", byCore, new byte[0]);
    }

    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void bytes_on_a_disk_are_acknowledged(boolean byCore) throws Exception {
        LocatedBlock block = LocalHdfs.allocate(cluster.files(), "/disk" + byCore, WireWriter.CLIENT);
        try (WireWriter writer = byCore ? new WireWriter(cluster, block) : WireWriter.byTcp(block)) {
            assertEquals(Status.SUCCESS, writer.create(1).status());
            assertSuccess(writer.send(writer.packet(0, 0, LocalHdfs.content(CHUNK), true)).ack(), 0, 1);
        }
        assertEquals(StorageType.DISK, volume(block).getStorageType());
    }

    @Test
    void a_writer_gets_an_error_and_what_it_has_flushed_is_readable() throws Exception {
        Path path = new Path(MEMORY, "file");
        byte[] content = LocalHdfs.content(3000);
        DistributedFileSystem writer = cluster.client();
        try {
            FSDataOutputStream out = writer.create(path); // it ends with its client
            out.write(content);
            out.hflush();
            assertThrows(IOException.class, out::hsync);
            assertEquals(StorageType.NVDIMM, volume(LocalHdfs.block(cluster.files(), path)).getStorageType());
            LocalHdfs.until("the file is closed", () -> recovered(path));
            try (var in = cluster.files().open(path)) {
                assertArrayEquals(content, in.readAllBytes());
            }
        } finally {
            closeFailed(writer);
        }
    }

    private boolean recovered(Path path) {
        try {
            return cluster.files().recoverLease(path);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private static void closeFailed(DistributedFileSystem writer) {
        try {
            writer.close();
        } catch (IOException e) {
            assertNotNull(e.getMessage()); // of the file that was not closed
        }
    }

    @Test
    void the_reason_names_the_cure() throws Exception {
        LocatedBlock block = LocalHdfs.allocate(cluster.files(), MEMORY + "/reason", WireWriter.CLIENT);
        try (WireWriter writer = new WireWriter(cluster, block)) {
            assertEquals(Status.SUCCESS, writer.create(1).status());
            FsVolumeSpi memory = volume(block);
            String reason = assertThrows(IOException.class, () -> memory.getFileIoProvider().sync(memory, null)).getMessage();
            assertTrue(reason.startsWith("Verbena hhh-m refuses hsync: " + memory + " is memory"), reason);
            assertTrue(reason.endsWith(" or set verbena.hdfs.memory.hsync=memory"), reason);
        }
    }
}
