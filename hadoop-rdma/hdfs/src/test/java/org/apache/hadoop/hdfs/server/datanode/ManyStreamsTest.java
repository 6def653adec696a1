// SPDX-License-Identifier: Apache-2.0
package org.apache.hadoop.hdfs.server.datanode;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.stream.IntStream;
import org.apache.hadoop.fs.FSDataOutputStream;
import org.apache.hadoop.hdfs.LocalHdfs;
import org.apache.hadoop.hdfs.protocol.DatanodeInfoWithStorage;
import org.apache.hadoop.hdfs.protocol.LocatedBlock;
import org.apache.hadoop.hdfs.protocol.proto.DataTransferProtos.Status;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.verbena.core.plugin.BufferBudget;
import org.verbena.core.plugin.StreamBudget;

/** As many streams to one DataNode as it serves, one more, and some hundred that are idle. */
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
final class ManyStreamsTest {
    private static final int LIMIT = 6;
    private static final int IDLE = 300;

    private ReceiverCluster cluster;
    private DataNode node;
    private int most;
    private final List<WireWriter> open = new ArrayList<>();

    /** Nothing is copied to a DataNode that has refused a replica: that would be one more user of its threads. */
    @BeforeAll
    void start(@TempDir Path work) throws Exception {
        cluster = new ReceiverCluster(work, Map.of("dfs.namenode.redundancy.interval.seconds", "1000000",
            "dfs.client.retry.window.base", "10", "dfs.client.socket-timeout", "600000")); // streams stay, however long all take
        node = cluster.dataNodes().get(0);
        most = node.xserver.maxXceiverCount;
    }

    @AfterAll
    void stop() throws IOException {
        cluster.close();
    }

    @BeforeEach
    void nobodyIsServed() throws InterruptedException {
        ReceiverCluster.until("no stream is served", () -> node.getXceiverCount() == 0);
    }

    @AfterEach
    void end() throws IOException {
        node.xserver.maxXceiverCount = most;
        for (WireWriter writer : open) {
            writer.close();
        }
        open.clear();
    }

    /** A new block whose first replica is the DataNode's. */
    private LocatedBlock allocate() throws IOException {
        LocatedBlock block = cluster.allocate();
        DatanodeInfoWithStorage[] all = block.getLocations();
        DatanodeInfoWithStorage[] sorted = IntStream.range(0, all.length).mapToObj(i -> all[i])
            .sorted(Comparator.comparing(one -> !one.getDatanodeUuid().equals(node.getDatanodeUuid())))
            .toArray(DatanodeInfoWithStorage[]::new);
        return new LocatedBlock(block.getBlock(), sorted,
            Arrays.stream(sorted).map(DatanodeInfoWithStorage::getStorageID).toArray(String[]::new),
            Arrays.stream(sorted).map(DatanodeInfoWithStorage::getStorageType).toArray(org.apache.hadoop.fs.StorageType[]::new));
    }

    /** A client that the DataNode has begun to serve; null when it has closed the connection without a word. */
    private WireWriter served(boolean byCore) throws IOException {
        WireWriter writer = byCore ? new WireWriter(cluster, allocate()) : WireWriter.byTcp(allocate());
        open.add(writer);
        try {
            assertEquals(Status.SUCCESS, writer.create(1).status());
            return writer;
        } catch (IOException e) {
            writer.close();
            return null;
        }
    }

    private void write(String name, byte[] content) throws IOException {
        try (FSDataOutputStream out = cluster.files().create(ReceiverCluster.path(name))) {
            out.write(content);
        }
    }

    /** By TCP it is Hadoop's own server of connections that counts. */
    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void the_limit_of_transfer_threads_refuses_one_more_and_takes_the_next_after_an_end(boolean byCore) throws Exception {
        byte[] content = ReceiverCluster.content(5000);
        String before = "before" + byCore;
        write(before, content);
        LocalHdfs.untilKnown(cluster.files(), ReceiverCluster.path(before), ReceiverCluster.NODES);
        nobodyIsServed();
        node.xserver.maxXceiverCount = LIMIT;
        long taken = XceiverBridge.blocksTaken();
        for (int i = 0; i <= LIMIT; i++) {
            assertNotNull(served(byCore), i + " are served");
        }
        assertNull(served(byCore));
        open.get(0).close();
        ReceiverCluster.until("the first one has ended", () -> node.getXceiverCount() == LIMIT);
        assertNotNull(served(byCore));
        assertNull(served(byCore));
        ReceiverCluster.until("those by the core have our receiver",
            () -> XceiverBridge.blocksTaken() - taken == (byCore ? LIMIT + 2 : 0));
        assertArrayEquals(content, cluster.read(before), "of one of the other DataNodes, if need be");
        write("meanwhile" + byCore, content);
        assertArrayEquals(content, cluster.read("meanwhile" + byCore), "of the other DataNodes");
        assertEquals(LIMIT + 1, node.getXceiverCount());
    }

    @Test
    void idle_streams_hold_no_memory_and_leave_the_datanode_to_a_new_client() throws Exception {
        BufferBudget budget = StreamBudget.shared();
        long used = budget.used();
        long reserved = budget.reserved();
        LocatedBlock any = allocate(); // for which they never ask
        for (int i = 0; i < IDLE; i++) {
            open.add(new WireWriter(cluster, any));
        }
        ReceiverCluster.until("all streams are served", () -> node.getXceiverCount() == IDLE);
        ReceiverCluster.until("idle streams hold no bytes", () -> budget.used() <= used);
        assertTrue(budget.reserved() <= budget.bound(), () -> budget.reserved() + " of " + budget.bound() + " bytes");
        WireWriter writer = served(true);
        assertNotNull(writer);
        assertTrue(writer.send(0, 0, ReceiverCluster.content(1000)).ack().isSuccess());
        assertTrue(writer.send(1, 1000, null).ack().isSuccess());
        byte[] content = ReceiverCluster.content(ReceiverCluster.BLOCK);
        write("new", content);
        assertArrayEquals(content, cluster.read("new"));
        end();
        nobodyIsServed();
        LocalHdfs.closeConnections(cluster.files());
        ReceiverCluster.until("the streams have given back what was theirs", () -> budget.reserved() <= reserved);
    }
}
