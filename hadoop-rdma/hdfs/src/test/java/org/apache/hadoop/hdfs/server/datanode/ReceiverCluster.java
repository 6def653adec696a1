// SPDX-License-Identifier: Apache-2.0
// Hadoop's own NameNode and three DataNodes in this JVM, whose blocks come by the core.
package org.apache.hadoop.hdfs.server.datanode;

import java.io.IOException;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.Map;
import java.util.Random;
import java.util.concurrent.atomic.AtomicInteger;
import org.apache.hadoop.hdfs.DistributedFileSystem;
import org.apache.hadoop.hdfs.LocalHdfs;
import org.apache.hadoop.hdfs.protocol.HdfsConstants.DatanodeReportType;
import org.apache.hadoop.hdfs.protocol.LocatedBlock;
import org.apache.hadoop.metrics2.AbstractMetric;
import org.apache.hadoop.metrics2.impl.MetricsCollectorImpl;
import org.apache.hadoop.metrics2.impl.MetricsRecordImpl;
import org.apache.hadoop.metrics2.lib.DefaultMetricsSystem;

/** All files have three replicas, one at each DataNode. */
final class ReceiverCluster extends LocalHdfs {
    static final int BLOCK = 1 << 20;
    static final int NODES = 3;
    private static final int OFFSET = 2347;
    private static final int PORTS = 10_000;
    private static final int PORTS_END = 17_000;
    private static final int TRIES = 1000;

    private final AtomicInteger numbers = new AtomicInteger();
    private final DistributedFileSystem files;

    ReceiverCluster(Path work, Map<String, String> settings) throws Exception {
        super(work, byCore(OFFSET), Map.of("dfs.blocksize", Integer.toString(BLOCK), "dfs.replication",
            Integer.toString(NODES)), settings);
        files = client();
        for (int i = 0; i < NODES; i++) {
            DataNode dataNode = start(work.resolve("data" + i).toUri().toString(), "dfs.datanode.address=127.0.0.1:" + drawPort());
            until("a DataNode greets", () -> isGreeting(dataNode.getXferPort() + OFFSET));
        }
        until("the NameNode knows the space of all DataNodes", () -> live() == NODES);
    }

    /** A port that is free and whose greeting's is free, too: outside of what outgoing connections and other tests take. */
    private static int drawPort() {
        return new Random().ints(TRIES, PORTS, PORTS_END).filter(port -> isFree(port) && isFree(port + OFFSET)).findFirst()
            .orElseThrow();
    }

    private static boolean isFree(int port) {
        try (ServerSocket probe = new ServerSocket(port)) {
            return probe.isBound();
        } catch (IOException e) {
            return false;
        }
    }

    private static boolean isGreeting(int port) {
        try (Socket socket = new Socket("127.0.0.1", port)) {
            return socket.isConnected();
        } catch (IOException e) {
            return false;
        }
    }

    private int live() {
        try {
            return (int) Arrays.stream(files.getClient().datanodeReport(DatanodeReportType.LIVE))
                .filter(one -> one.getRemaining() > 0).count();
        } catch (IOException e) {
            throw new AssertionError(e);
        }
    }

    DistributedFileSystem files() {
        return files;
    }

    static org.apache.hadoop.fs.Path path(String name) {
        return new org.apache.hadoop.fs.Path("/" + name);
    }

    /** A block that the NameNode has given out, of a new file that nobody closes. */
    LocatedBlock allocate() throws IOException {
        return allocate(files, "/allocated" + numbers.getAndIncrement(), WireWriter.CLIENT);
    }

    /** One DataNode of a block's pipeline. */
    DataNode node(LocatedBlock block, int place) {
        return dataNodes().stream().filter(node -> node.getDatanodeUuid().equals(block.getLocations()[place].getDatanodeUuid()))
            .findFirst().orElseThrow();
    }

    /** That of one DataNode of the pipeline; null when it has none. */
    @SuppressWarnings("deprecation") // there is no other way to it from outside
    Replica replica(LocatedBlock block, int place) {
        return node(block, place).getFSDataset().getReplica(block.getBlock().getBlockPoolId(), block.getBlock().getBlockId());
    }

    /** Space that the DataNodes keep for replicas that are being written. */
    long reserved() {
        return reserved(dataNodes());
    }

    /** How often all DataNodes have written checksums to a file; they do so as well when they close one. */
    long flushes() {
        return sum("FlushNanosNumOps");
    }

    /** The streams of other tests may end after them. */
    void awaitNoWriter() throws InterruptedException {
        until("no DataNode receives a block", () -> sum("DataNodeWriteActiveXceiversCount") == 0);
    }

    /** A metric of all DataNodes. */
    private long sum(String name) {
        long sum = 0;
        for (DataNode node : dataNodes()) {
            MetricsCollectorImpl collector = new MetricsCollectorImpl();
            DefaultMetricsSystem.instance().getSource(node.getMetrics().name()).getMetrics(collector, true);
            for (MetricsRecordImpl record : collector.getRecords()) {
                for (AbstractMetric metric : record.metrics()) {
                    sum += metric.name().equals(name) ? metric.value().longValue() : 0;
                }
            }
        }
        return sum;
    }

    byte[] read(String name) throws IOException {
        try (var in = files.open(path(name))) {
            return in.readAllBytes();
        }
    }

    @Override
    public void close() throws IOException {
        files.close();
        super.close();
    }
}
