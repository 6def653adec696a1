// SPDX-License-Identifier: Apache-2.0
package org.apache.hadoop.hdfs.server.datanode;

import static org.apache.hadoop.hdfs.server.datanode.WireAsserts.assertSuccess;
import static org.apache.hadoop.hdfs.server.datanode.WireAsserts.assertSumsAreRight;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.DataOutputStream;
import java.io.FilterOutputStream;
import java.io.IOException;
import java.lang.reflect.Field;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.Map;
import org.apache.hadoop.hdfs.protocol.LocatedBlock;
import org.apache.hadoop.hdfs.protocol.proto.DataTransferProtos.Status;
import org.junit.jupiter.api.Test;

/** Disks that take the data of packets and not their checksums: what remains is what was acknowledged, in both files. */
class RefusedSumsTest extends ReceiverSetUp {
    private static final int CHUNK = WireWriter.CHUNK;
    /** Of the block that ends within a chunk. */
    private static final int KNOWN = CHUNK + 100;

    /** When a full disk has space again. */
    private enum Space {
        /** Before the failure is seen; the checksums are in the file. */
        AT_ONCE,
        /** When the receiver closes its files; the checksums have waited in the stream. */
        SOON
    }

    /** Refuses the first checksums that it has. */
    private static final class Refuses extends FilterOutputStream {
        private final Space space;
        private boolean has;
        private boolean failed;

        Refuses(DataOutputStream out, Space space) {
            super(out);
            this.space = space;
        }

        @Override
        public void write(byte[] bytes, int offset, int length) throws IOException {
            has = true;
            out.write(bytes, offset, length);
        }

        @Override
        public void flush() throws IOException {
            boolean fails = has && !failed;
            failed |= fails;
            if (!fails || space == Space.AT_ONCE) {
                super.flush();
            }
            if (fails) {
                throw new IOException("No space left on device");
            }
        }
    }

    private static Field field(Class<?> type, String name) throws NoSuchFieldException {
        Field field = type.getDeclaredField(name);
        field.setAccessible(true);
        return field;
    }

    /** Who receives a block, at the first DataNode of its pipeline. */
    private BlockReceiver receiver(LocatedBlock block) throws ReflectiveOperationException {
        Field receivers = field(DataXceiver.class, "blockReceiver");
        Map<?, ?> streams = (Map<?, ?>) field(DataXceiverServer.class, "peersXceiver").get(cluster.node(block, 0).xserver);
        for (Object stream : streams.values().toArray()) {
            BlockReceiver one = (BlockReceiver) receivers.get(stream);
            if (one != null && one.getReplica().getBlockId() == block.getBlock().getBlockId()) {
                return one;
            }
        }
        throw new AssertionError("nobody receives " + block);
    }

    private void refuse(LocatedBlock block, Space space) throws ReflectiveOperationException {
        Field sums = field(BlockReceiver.class, "checksumOut");
        BlockReceiver receiver = receiver(block);
        sums.set(receiver, new DataOutputStream(new Refuses((DataOutputStream) sums.get(receiver), space)));
    }

    /** A block of whose bytes so many are acknowledged when the checksums of all of them are refused. */
    private LocatedBlock refused(byte[] content, int known, Space space) throws Exception {
        LocatedBlock block = cluster.allocate();
        cluster.awaitNoWriter();
        try (WireWriter writer = new WireWriter(cluster, block)) {
            assertEquals(Status.SUCCESS, writer.create(1).status());
            if (known > 0) {
                assertSuccess(writer.send(0, 0, Arrays.copyOf(content, known)).ack(), 0, 1);
            }
            refuse(block, space);
            int from = known / CHUNK * CHUNK;
            assertTrue(writer.send(1, from, Arrays.copyOfRange(content, from, content.length)).hasEnded());
        }
        cluster.awaitNoWriter();
        return block;
    }

    private void assertLeft(LocatedBlock block, byte[] content) throws IOException {
        assertEquals(content.length, cluster.replica(block, 0).getBytesOnDisk());
        Path file = cluster.replicas(block.getBlock()).get(0);
        assertArrayEquals(content, Files.readAllBytes(file));
        assertSumsAreRight(file, block.getBlock(), content);
    }

    @Test
    void packets_whose_checksums_are_refused_leave_both_files_as_they_were_acknowledged() throws Exception {
        byte[] content = ReceiverCluster.content(3 * CHUNK);
        for (int known : new int[] {0, CHUNK, KNOWN}) {
            for (Space space : Space.values()) {
                assertLeft(refused(content, known, space), Arrays.copyOf(content, known));
            }
        }
    }

    @Test
    void the_file_of_data_is_cut_when_the_disk_does_not_give_the_checksums_back() throws Exception {
        byte[] content = ReceiverCluster.content(2 * CHUNK);
        LocatedBlock block = cluster.allocate();
        cluster.awaitNoWriter();
        Path file;
        try (WireWriter writer = new WireWriter(cluster, block)) {
            assertEquals(Status.SUCCESS, writer.create(1).status());
            assertSuccess(writer.send(0, 0, Arrays.copyOf(content, CHUNK)).ack(), 0, 1);
            refuse(block, Space.SOON);
            file = cluster.replicas(block.getBlock()).get(0);
            Files.write(Path.of(((ReplicaInfo) cluster.replica(block, 0)).getMetadataURI()), new byte[0]);
            assertTrue(writer.send(1, CHUNK, Arrays.copyOfRange(content, CHUNK, 2 * CHUNK)).hasEnded());
        }
        cluster.awaitNoWriter();
        assertArrayEquals(Arrays.copyOf(content, CHUNK), Files.readAllBytes(file));
    }

    /** Ends a writer when the data of its second write is in the file. */
    private static final class EndsSecondWrite extends Injector {
        private int writes;

        @Override
        public void delayWriteToDisk() {
            if (++writes == 2) {
                throw new IllegalStateException("the test ends this writer");
            }
        }
    }

    /** The first of these packets waits to be stored with the second one, if both come at once. */
    @Test
    void a_packet_that_is_stored_last_and_in_vain_leaves_the_files_as_they_were() throws Exception {
        byte[] content = ReceiverCluster.content(2 * CHUNK);
        LocatedBlock block = cluster.allocate();
        cluster.awaitNoWriter();
        try (EndsSecondWrite end = new EndsSecondWrite(); WireWriter writer = new WireWriter(cluster, block)) {
            assertEquals(Status.SUCCESS, writer.create(1).status());
            assertSuccess(writer.send(0, 0, Arrays.copyOf(content, CHUNK)).ack(), 0, 1);
            writer.send(1, CHUNK, Arrays.copyOfRange(content, CHUNK, 2 * CHUNK)).send(2, 1L << 40, content);
            assertTrue(writer.hasEnded());
            cluster.awaitNoWriter();
            assertEquals(2, end.writes);
        }
        assertLeft(block, Arrays.copyOf(content, CHUNK));
    }
}
