// SPDX-License-Identifier: Apache-2.0
// Hadoop's own NameNode and DataNodes in this JVM, and clients with our file system.
package org.apache.hadoop.hdfs;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import java.util.function.BooleanSupplier;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.hdfs.protocol.LocatedBlock;
import org.apache.hadoop.hdfs.server.datanode.DataNode;
import org.apache.hadoop.hdfs.server.namenode.NameNode;
import org.apache.hadoop.metrics2.lib.DefaultMetricsSystem;
import org.verbena.hadoop.hdfs.VerbenaFileSystem;
import org.verbena.hadoop.hdfs.VerbenaHdfs;

/** One NameNode and some DataNodes, each with one folder. */
final class WriteCluster implements AutoCloseable {
    static final int BLOCK = 4 << 20;
    private static final long LIMIT_MS = 120_000;
    private static final long PAUSE_MS = 20;

    private final Configuration conf = new HdfsConfiguration();
    private final NameNode nameNode;
    private final List<DataNode> dataNodes = new ArrayList<>();

    WriteCluster(Path work, int count) throws Exception {
        conf.set("fs.defaultFS", "hdfs://127.0.0.1:0");
        conf.set("dfs.namenode.name.dir", work.resolve("name").toUri().toString());
        for (String address : List.of("namenode.http-address", "datanode.address", "datanode.http.address",
                "datanode.ipc.address")) {
            conf.set("dfs." + address, "127.0.0.1:0");
        }
        conf.setLong("dfs.blocksize", BLOCK);
        conf.setLong("dfs.namenode.fs-limits.min-block-size", 1);
        conf.setInt("dfs.heartbeat.interval", 1);
        conf.set("dfs.namenode.redundancy.interval.seconds", "50ms");
        // Every block is on every DataNode, also on one that had much to do a moment ago.
        conf.setBoolean("dfs.namenode.redundancy.considerLoad", false);
        conf.setLong("dfs.datanode.du.reserved", 0);
        conf.set("fs.hdfs.impl", VerbenaFileSystem.class.getName());
        conf.set("fs.AbstractFileSystem.hdfs.impl", VerbenaHdfs.class.getName());
        conf.setBoolean("fs.hdfs.impl.disable.cache", true);
        makePages();
        DefaultMetricsSystem.setMiniClusterMode(true); // several daemons in this JVM
        NameNode.format(conf);
        nameNode = NameNode.createNameNode(new String[0], conf);
        conf.set("fs.defaultFS", "hdfs://127.0.0.1:" + nameNode.getNameNodeAddress().getPort());
        for (int i = 0; i < count; i++) {
            Configuration own = new Configuration(conf);
            own.set("dfs.datanode.data.dir", work.resolve("data" + i).toUri().toString());
            dataNodes.add(DataNode.createDataNode(new String[0], own));
        }
        until("the DataNodes serve", () -> dataNodes.stream().allMatch(DataNode::isDatanodeFullyStarted)
            && nameNode.getNamesystem().getNumLiveDataNodes() == count);
    }

    /** The daemons look for their web pages on the class path, and Hadoop's jars have none: empty folders stand for them. */
    private static void makePages() throws Exception {
        Path classes = Path.of(WriteCluster.class.getProtectionDomain().getCodeSource().getLocation().toURI());
        for (String daemon : List.of("hdfs", "datanode")) {
            Files.createDirectories(classes.resolve("webapps").resolve(daemon));
        }
    }

    /** A client of its own with these settings, "name=value". */
    DistributedFileSystem client(String... settings) throws IOException {
        Configuration own = new Configuration(conf);
        for (String setting : settings) {
            own.set(setting.substring(0, setting.indexOf('=')), setting.substring(setting.indexOf('=') + 1));
        }
        return (DistributedFileSystem) new org.apache.hadoop.fs.Path("/").getFileSystem(own);
    }

    NameNode nameNode() {
        return nameNode;
    }

    DataNode dataNode(int index) {
        return dataNodes.get(index);
    }

    /** Bytes that depend on their count alone. */
    static byte[] content(int bytes) {
        byte[] content = new byte[bytes];
        new Random(bytes).nextBytes(content);
        return content;
    }

    static LocatedBlock block(DistributedFileSystem files, org.apache.hadoop.fs.Path path) throws IOException {
        return files.getClient().getLocatedBlocks(path.toString(), 0).get(0);
    }

    /** What each replica of a file's first block holds: read from one DataNode each, with its checksums. */
    static boolean isEverywhere(DistributedFileSystem files, org.apache.hadoop.fs.Path path, byte[] content, int replicas)
            throws IOException, InterruptedException {
        until(replicas + " replicas of " + path, () -> {
            try {
                return block(files, path).getLocations().length == replicas;
            } catch (IOException e) {
                throw new AssertionError(e);
            }
        });
        for (var node : block(files, path).getLocations()) {
            try (DFSInputStream in = files.getClient().open(path.toString())) {
                for (var other : block(files, path).getLocations()) {
                    if (!other.equals(node)) {
                        in.addToLocalDeadNodes(other);
                    }
                }
                byte[] read = in.readAllBytes();
                if (!Arrays.equals(read, content) || in.getCurrentDatanode() != null && !in.getCurrentDatanode().equals(node)) {
                    return false;
                }
            }
        }
        return true;
    }

    static void until(String what, BooleanSupplier condition) throws InterruptedException {
        long deadline = System.nanoTime() + LIMIT_MS * 1_000_000;
        while (!condition.getAsBoolean()) {
            if (System.nanoTime() > deadline) {
                throw new AssertionError("not within " + LIMIT_MS + " ms: " + what);
            }
            Thread.sleep(PAUSE_MS);
        }
    }

    @Override
    public void close() {
        dataNodes.forEach(DataNode::shutdown);
        nameNode.stop();
    }
}
