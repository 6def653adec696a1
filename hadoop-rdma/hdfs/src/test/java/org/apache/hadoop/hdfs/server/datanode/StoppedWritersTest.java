// SPDX-License-Identifier: Apache-2.0
package org.apache.hadoop.hdfs.server.datanode;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.Stream;
import org.apache.hadoop.hdfs.LocalHdfs;
import org.apache.hadoop.hdfs.protocol.ExtendedBlock;
import org.apache.hadoop.hdfs.protocol.HdfsConstants.DatanodeReportType;
import org.apache.hadoop.hdfs.protocol.LocatedBlock;
import org.apache.hadoop.hdfs.protocol.proto.DataTransferProtos.Status;
import org.apache.hadoop.hdfs.server.datanode.fsdataset.FsDatasetSpi;
import org.apache.hadoop.hdfs.server.protocol.BlockRecoveryCommand.RecoveringBlock;
import org.apache.hadoop.hdfs.server.protocol.ReplicaRecoveryInfo;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.api.io.TempDir;

/** Writers that a DataNode stops, by an interrupt of their thread, whatever it does then. */
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
final class StoppedWritersTest {
    private static final int CHUNK = WireWriter.CHUNK;

    private Path work;
    private ReceiverCluster cluster;

    @BeforeAll
    void start(@TempDir Path folder) throws Exception {
        work = folder.toRealPath(); // open files have this name
        cluster = new ReceiverCluster(work, Map.of());
    }

    @AfterAll
    void stop() throws IOException {
        cluster.close();
    }

    /** Stops a writer at once after one of its writes of data. */
    private static final class StopsAfterWrite extends Injector {
        private final AtomicInteger left;

        StopsAfterWrite(int write) {
            left = new AtomicInteger(write);
        }

        @Override
        public void delayWriteToDisk() {
            if (left.decrementAndGet() == 0) {
                Thread.currentThread().interrupt();
            }
        }
    }

    /** What a DataNode has of a file whose lease has expired; it ends the writer first. */
    private ReplicaRecoveryInfo recover(LocatedBlock block) throws IOException {
        return cluster.node(block, 0).getFSDataset().initReplicaRecovery(new RecoveringBlock(block.getBlock(), block.getLocations(),
            block.getBlock().getGenerationStamp() + 1));
    }

    private void assertRecovered(LocatedBlock block, byte[] content) throws IOException {
        assertEquals(content.length, recover(block).getNumBytes());
        WireAsserts.assertSumsAreRight(cluster.replicas(block.getBlock()).get(0), block.getBlock(), content);
    }

    @Test
    void the_lease_of_a_writer_that_was_stopped_within_a_write_is_recovered() throws Exception {
        LocatedBlock block = cluster.allocate();
        byte[] content = ReceiverCluster.content(2 * CHUNK);
        byte[] known = Arrays.copyOf(content, 100);
        try (StopsAfterWrite stop = new StopsAfterWrite(2); WireWriter writer = new WireWriter(cluster, block)) {
            assertEquals(Status.SUCCESS, writer.create(1).status());
            WireAsserts.assertSuccess(writer.send(0, 0, known).ack(), 0, 1);
            assertTrue(writer.send(1, 0, content).hasEnded(), "the checksum of the first 100 bytes is to be replaced");
            assertEquals(0, stop.left.get());
        }
        assertRecovered(block, known);
    }

    /** Ends a writer when its data is in the file, and no checksum: as an interrupt within a long write does, and a full disk. */
    private static final class EndsAfterWrite extends Injector {
        private final AtomicInteger writes = new AtomicInteger();

        @Override
        public void delayWriteToDisk() {
            writes.incrementAndGet();
            throw new IllegalStateException("the test ends this writer");
        }
    }

    @Test
    void the_lease_of_a_writer_that_was_stopped_within_its_first_write_is_recovered() throws Exception {
        LocatedBlock block = cluster.allocate();
        try (EndsAfterWrite end = new EndsAfterWrite(); WireWriter writer = new WireWriter(cluster, block)) {
            assertEquals(Status.SUCCESS, writer.create(1).status());
            assertTrue(writer.send(0, 0, ReceiverCluster.content(1000)).hasEnded());
            assertEquals(1, end.writes.get());
        }
        ReceiverCluster.until("no bytes are left in its file",
            () -> ((ReplicaInfo) cluster.replica(block, 0)).getBlockDataLength() == 0);
        assertRecovered(block, new byte[0]);
    }

    private List<Path> files(ExtendedBlock block) throws IOException {
        return LocalHdfs.found(work, name -> name.startsWith(block.getBlockName()));
    }

    /** Ends a writer as one of its writes is done, when a deletion of its replica has removed the files, and goes on. */
    private final class DeletedAfterWrite extends Injector {
        private final ExtendedBlock block;
        private final AtomicInteger left;

        DeletedAfterWrite(ExtendedBlock block, int write) {
            this.block = block;
            left = new AtomicInteger(write);
        }

        @Override
        public void delayWriteToDisk() {
            if (left.decrementAndGet() > 0) {
                return;
            }
            try {
                for (Path file : files(block)) {
                    Files.delete(file);
                }
            } catch (IOException e) {
                throw new UncheckedIOException(e);
            }
            throw new IllegalStateException("the test ends this writer");
        }
    }

    /** known: bytes that are acknowledged before. */
    private void leavesNoFile(int known) throws Exception {
        LocatedBlock block = cluster.allocate();
        cluster.awaitNoWriter();
        byte[] content = ReceiverCluster.content(2 * CHUNK);
        try (DeletedAfterWrite end = new DeletedAfterWrite(block.getBlock(), known > 0 ? 2 : 1);
                WireWriter writer = new WireWriter(cluster, block)) {
            assertEquals(Status.SUCCESS, writer.create(1).status());
            if (known > 0) {
                WireAsserts.assertSuccess(writer.send(0, 0, Arrays.copyOf(content, known)).ack(), 0, 1);
            }
            assertEquals(2, files(block.getBlock()).size());
            assertTrue(writer.send(1, 0, content).hasEnded());
            cluster.awaitNoWriter();
            assertEquals(0, end.left.get());
        }
        assertEquals(List.of(), files(block.getBlock()));
    }

    @Test
    void a_writer_that_ends_while_its_replica_is_deleted_leaves_no_file() throws Exception {
        leavesNoFile(0);
        leavesNoFile(100);
    }

    @Test
    void bytes_whose_sync_is_stopped_count() throws Exception {
        LocatedBlock block = cluster.allocate();
        byte[] content = ReceiverCluster.content(2 * CHUNK);
        try (StopsAfterWrite stop = new StopsAfterWrite(1); WireWriter writer = new WireWriter(cluster, block)) {
            assertEquals(Status.SUCCESS, writer.create(1).status());
            assertTrue(writer.send(writer.packet(0, 0, content, true)).hasEnded());
            assertEquals(0, stop.left.get());
        }
        assertRecovered(block, content);
    }

    @Test
    void evicted_writers_end_and_what_was_acknowledged_counts() throws Exception {
        LocatedBlock block = cluster.allocate();
        byte[] content = ReceiverCluster.content(1000);
        try (WireWriter writer = new WireWriter(cluster, block)) {
            assertEquals(Status.SUCCESS, writer.create(ReceiverCluster.NODES).status());
            WireAsserts.assertSuccess(writer.send(0, 0, content).ack(), 0, ReceiverCluster.NODES);
            cluster.node(block, 0).evictWriters();
            assertTrue(writer.hasEnded());
        }
        assertRecovered(block, content);
    }

    /** Open files of this process below a folder. */
    private static long open(Path folder) {
        try (Stream<Path> all = Files.list(Path.of("/proc/self/fd"))) {
            return all.filter(one -> {
                try {
                    return Files.readSymbolicLink(one).startsWith(folder);
                } catch (IOException e) {
                    return false; // closed meanwhile
                }
            }).count();
        } catch (IOException e) {
            throw new AssertionError(e);
        }
    }

    /** Whether the NameNode has heard of the space of a DataNode's only volume. */
    private boolean isVolumeKnown(DataNode node) {
        try (FsDatasetSpi.FsVolumeReferences volumes = node.getFSDataset().getFsVolumeReferences()) {
            String id = volumes.get(0).getStorageID();
            return Arrays.stream(cluster.files().getClient().getNamenode().getDatanodeStorageReport(DatanodeReportType.LIVE))
                .flatMap(one -> Arrays.stream(one.getStorageReports()))
                .anyMatch(one -> one.getStorage().getStorageID().equals(id) && one.getRemaining() > 0);
        } catch (IOException e) {
            throw new AssertionError(e);
        }
    }

    @Test
    void a_volume_that_is_removed_ends_its_writers_and_can_be_unmounted() throws Exception {
        LocatedBlock block = cluster.allocate();
        DataNode node = cluster.node(block, 0);
        Path volume = XceiverBridge.firstVolume(node);
        try (WireWriter writer = new WireWriter(cluster, block)) {
            assertEquals(Status.SUCCESS, writer.create(1).status());
            WireAsserts.assertSuccess(writer.send(0, 0, ReceiverCluster.content(1000)).ack(), 0, 1);
            assertTrue(open(volume) > 0);
            node.reconfigurePropertyImpl("dfs.datanode.data.dir", work.resolve("other").toUri().toString());
            assertTrue(writer.hasEnded());
        }
        ReceiverCluster.until("no file of the volume is open", () -> open(volume) == 0);
        ReceiverCluster.until("the NameNode knows the other volume", () -> isVolumeKnown(node));
        LocatedBlock next = cluster.allocate();
        try (WireWriter writer = new WireWriter(cluster, next)) {
            assertEquals(Status.SUCCESS, writer.create(ReceiverCluster.NODES).status(), "one of them has a new volume");
        }
    }
}
