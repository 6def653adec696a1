// SPDX-License-Identifier: Apache-2.0
// Hadoop's own NameNode and three DataNodes in this JVM, whose blocks come by the core.
package org.apache.hadoop.hdfs.server.datanode;

import java.io.IOException;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.file.FileVisitResult;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.SimpleFileVisitor;
import java.nio.file.attribute.BasicFileAttributes;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.function.BooleanSupplier;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.hdfs.DistributedFileSystem;
import org.apache.hadoop.hdfs.HdfsConfiguration;
import org.apache.hadoop.hdfs.LocalHdfs;
import org.apache.hadoop.hdfs.protocol.ExtendedBlock;
import org.apache.hadoop.hdfs.protocol.HdfsConstants.DatanodeReportType;
import org.apache.hadoop.hdfs.server.namenode.NameNode;
import org.apache.hadoop.metrics2.lib.DefaultMetricsSystem;
import org.verbena.hadoop.hdfs.VerbenaDataNodePlugin;
import org.verbena.hadoop.hdfs.VerbenaSocketFactory;

/** All files have three replicas, one at each DataNode. */
final class ReceiverCluster implements AutoCloseable {
    static final int BLOCK = 1 << 20;
    static final int NODES = 3;
    private static final int OFFSET = 2347;
    private static final int PORTS = 10_000;
    private static final int PORTS_END = 17_000;
    private static final int TRIES = 1000;

    private final Path work;
    private final Configuration conf = new HdfsConfiguration();
    private final NameNode nameNode;
    private final List<DataNode> dataNodes = new ArrayList<>();
    private final DistributedFileSystem files;

    ReceiverCluster(Path work, Map<String, String> settings) throws Exception {
        this.work = work;
        conf.set("fs.defaultFS", "hdfs://127.0.0.1:0");
        conf.set("dfs.namenode.name.dir", work.resolve("name").toUri().toString());
        for (String address : List.of("namenode.http-address", "datanode.address", "datanode.http.address",
                "datanode.ipc.address")) {
            conf.set("dfs." + address, "127.0.0.1:0");
        }
        conf.setLong("dfs.blocksize", BLOCK);
        conf.setLong("dfs.namenode.fs-limits.min-block-size", 1);
        conf.setInt("dfs.replication", NODES);
        conf.setInt("dfs.heartbeat.interval", 1);
        conf.setBoolean("dfs.namenode.redundancy.considerLoad", false); // each file has its replicas at all of them
        conf.setLong("dfs.datanode.du.reserved", 0);
        conf.set("dfs.datanode.plugins", VerbenaDataNodePlugin.class.getName());
        conf.set("hadoop.rpc.socket.factory.class.ClientProtocol", VerbenaSocketFactory.class.getName());
        conf.set("verbena.hdfs.auth", "none");
        conf.set("verbena.core.tl.enable", "self,shm");
        conf.setInt("verbena.hdfs.port.offset", OFFSET);
        conf.setInt("verbena.hdfs.connect.wait.ms", 600_000);
        settings.forEach(conf::set);
        makePages();
        DefaultMetricsSystem.setMiniClusterMode(true); // several daemons in this JVM
        NameNode.format(conf);
        nameNode = NameNode.createNameNode(new String[0], conf);
        conf.set("fs.defaultFS", "hdfs://127.0.0.1:" + nameNode.getNameNodeAddress().getPort());
        files = (DistributedFileSystem) new org.apache.hadoop.fs.Path("/").getFileSystem(conf);
        for (int i = 0; i < NODES; i++) {
            start(i);
        }
        until("the NameNode knows the space of all DataNodes", () -> live() == NODES);
    }

    /** The daemons look for their web pages on the class path, and Hadoop's jars have none: empty folders stand for them. */
    private static void makePages() throws Exception {
        Path classes = Path.of(ReceiverCluster.class.getProtectionDomain().getCodeSource().getLocation().toURI());
        for (String daemon : List.of("hdfs", "datanode")) {
            Files.createDirectories(classes.resolve("webapps").resolve(daemon));
        }
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

    private void start(int number) throws IOException, InterruptedException {
        Configuration own = new Configuration(conf);
        own.set("dfs.datanode.address", "127.0.0.1:" + drawPort());
        own.set("dfs.datanode.data.dir", work.resolve("data" + number).toUri().toString());
        DataNode dataNode = DataNode.createDataNode(new String[0], own);
        dataNodes.add(dataNode);
        until("a DataNode serves", () -> dataNode.isDatanodeFullyStarted() && isGreeting(dataNode.getXferPort() + OFFSET));
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

    List<DataNode> dataNodes() {
        return dataNodes;
    }

    Configuration conf() {
        return conf;
    }

    static org.apache.hadoop.fs.Path path(String name) {
        return new org.apache.hadoop.fs.Path("/" + name);
    }

    /** Bytes that depend on their number alone. */
    static byte[] content(int bytes) {
        byte[] content = new byte[bytes];
        new Random(bytes).nextBytes(content);
        return content;
    }

    byte[] read(String name) throws IOException {
        try (var in = files.open(path(name))) {
            return in.readAllBytes();
        }
    }

    /** The data files of a block, one for each replica. */
    List<Path> replicas(ExtendedBlock block) throws IOException {
        List<Path> found = new ArrayList<>();
        Files.walkFileTree(work, new SimpleFileVisitor<>() {
            @Override
            public FileVisitResult visitFile(Path file, BasicFileAttributes attributes) {
                if (file.getFileName().toString().equals(block.getBlockName())) {
                    found.add(file);
                }
                return FileVisitResult.CONTINUE;
            }

            @Override
            public FileVisitResult visitFileFailed(Path file, IOException cause) {
                return FileVisitResult.CONTINUE; // a daemon has moved or deleted it meanwhile
            }
        });
        return found;
    }

    static void until(String what, BooleanSupplier condition) throws InterruptedException {
        LocalHdfs.until(what, condition);
    }

    @Override
    public void close() throws IOException {
        files.close();
        dataNodes.forEach(DataNode::shutdown);
        nameNode.stop();
    }
}
