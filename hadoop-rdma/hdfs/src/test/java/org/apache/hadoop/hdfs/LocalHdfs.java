// SPDX-License-Identifier: Apache-2.0
// Hadoop's own NameNode and DataNodes in this JVM: what all clusters of these tests have in common.
package org.apache.hadoop.hdfs;

import java.io.IOException;
import java.io.RandomAccessFile;
import java.io.UncheckedIOException;
import java.nio.file.FileVisitResult;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.SimpleFileVisitor;
import java.nio.file.attribute.BasicFileAttributes;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.EnumSet;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.function.BooleanSupplier;
import java.util.function.Predicate;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.crypto.CryptoProtocolVersion;
import org.apache.hadoop.fs.CreateFlag;
import org.apache.hadoop.fs.permission.FsPermission;
import org.apache.hadoop.hdfs.protocol.ClientProtocol;
import org.apache.hadoop.hdfs.protocol.ExtendedBlock;
import org.apache.hadoop.hdfs.protocol.LocatedBlock;
import org.apache.hadoop.hdfs.server.datanode.DataNode;
import org.apache.hadoop.hdfs.server.namenode.NameNode;
import org.apache.hadoop.io.EnumSetWritable;
import org.apache.hadoop.metrics2.lib.DefaultMetricsSystem;
import org.verbena.hadoop.hdfs.VerbenaDataNodePlugin;
import org.verbena.hadoop.hdfs.VerbenaSocketFactory;

/** One NameNode, and DataNodes that come and go. */
public class LocalHdfs implements AutoCloseable {
    private static final long LIMIT_MS = 120_000;
    private static final long PAUSE_MS = 20;

    private final Path work;
    private final Configuration conf = new HdfsConfiguration();
    private final NameNode nameNode;
    private final List<DataNode> dataNodes = new ArrayList<>();

    /**
     * Starts the NameNode.
     *
     * @param work folder of all files
     * @param settings of all daemons and clients; of one name the last counts
     */
    @SafeVarargs
    public LocalHdfs(Path work, Map<String, String>... settings) throws Exception {
        this.work = work;
        conf.set("fs.defaultFS", "hdfs://127.0.0.1:0");
        conf.set("dfs.namenode.name.dir", work.resolve("name").toUri().toString());
        for (String address : List.of("namenode.http-address", "datanode.address", "datanode.http.address",
                "datanode.ipc.address")) {
            conf.set("dfs." + address, "127.0.0.1:0");
        }
        conf.setLong("dfs.namenode.fs-limits.min-block-size", 1);
        conf.setInt("dfs.heartbeat.interval", 1);
        // Every block is on every DataNode, also on one that had much to do a moment ago.
        conf.setBoolean("dfs.namenode.redundancy.considerLoad", false);
        // A DataNode may lose the order to copy a block, for example one that is not final there yet: not for five minutes.
        conf.setInt("dfs.namenode.reconstruction.pending.timeout-sec", 10);
        conf.setInt("dfs.namenode.redundancy.interval.seconds", 1);
        conf.setLong("dfs.datanode.du.reserved", 0);
        for (Map<String, String> some : settings) {
            some.forEach(conf::set);
        }
        makePages();
        DefaultMetricsSystem.setMiniClusterMode(true); // several daemons in this JVM
        NameNode.format(conf);
        nameNode = NameNode.createNameNode(new String[0], conf);
        conf.set("fs.defaultFS", "hdfs://127.0.0.1:" + nameNode.getNameNodeAddress().getPort());
    }

    /** The daemons look for their web pages on the class path, and Hadoop's jars have none: empty folders stand for them. */
    private static void makePages() throws Exception {
        Path classes = Path.of(LocalHdfs.class.getProtectionDomain().getCodeSource().getLocation().toURI());
        for (String daemon : List.of("hdfs", "datanode")) {
            Files.createDirectories(classes.resolve("webapps").resolve(daemon));
        }
    }

    /** Settings with which blocks go to our receiver by the core, whose port is that of the DataNode plus the offset. */
    public static Map<String, String> byCore(int offset) {
        return Map.of("dfs.datanode.plugins", VerbenaDataNodePlugin.class.getName(),
            "hadoop.rpc.socket.factory.class.ClientProtocol", VerbenaSocketFactory.class.getName(), "verbena.hdfs.auth", "none",
            "verbena.core.tl.enable", "self,shm", "verbena.hdfs.port.offset", Integer.toString(offset),
            "verbena.hdfs.connect.wait.ms", "600000");
    }

    /**
     * Starts a DataNode, or one that has stopped.
     *
     * @param folders of its replicas, as {@code dfs.datanode.data.dir} names them
     * @param settings of its own, "name=value"
     */
    public final DataNode start(String folders, String... settings) throws IOException, InterruptedException {
        Configuration own = with(settings);
        own.set("dfs.datanode.data.dir", folders);
        DataNode dataNode = DataNode.createDataNode(new String[0], own);
        dataNodes.add(dataNode);
        until("a DataNode serves", dataNode::isDatanodeFullyStarted);
        return dataNode;
    }

    /** Waits until the NameNode has heard of so many DataNodes. */
    public final void untilLive(int count) throws InterruptedException {
        until(count + " DataNodes live", () -> nameNode.getNamesystem().getNumLiveDataNodes() == count);
    }

    public final void stop(DataNode dataNode) {
        dataNodes.remove(dataNode);
        dataNode.shutdown();
    }

    public final Configuration conf() {
        return conf;
    }

    public final NameNode nameNode() {
        return nameNode;
    }

    public final List<DataNode> dataNodes() {
        return dataNodes;
    }

    private Configuration with(String... settings) {
        Configuration own = new Configuration(conf);
        for (String setting : settings) {
            own.set(setting.substring(0, setting.indexOf('=')), setting.substring(setting.indexOf('=') + 1));
        }
        return own;
    }

    /** A client of its own with these settings, "name=value". */
    public final DistributedFileSystem client(String... settings) throws IOException {
        Configuration own = with(settings);
        own.setBoolean("fs.hdfs.impl.disable.cache", true);
        return (DistributedFileSystem) new org.apache.hadoop.fs.Path("/").getFileSystem(own);
    }

    /** Space that DataNodes keep for replicas that are being written. */
    public static long reserved(List<DataNode> dataNodes) {
        return dataNodes.stream().flatMap(node -> node.getFSDataset().getVolumeInfoMap().values().stream())
            .mapToLong(info -> (Long) ((Map<?, ?>) info).get("reservedSpaceForReplicas")).sum();
    }

    /** A block that the NameNode has given out, of a new file that nobody closes. */
    public static LocatedBlock allocate(DistributedFileSystem files, String path, String client) throws IOException {
        ClientProtocol nameNode = files.getClient().getNamenode();
        long id = nameNode.create(path, FsPermission.getFileDefault(), client,
            new EnumSetWritable<>(EnumSet.of(CreateFlag.CREATE), CreateFlag.class), true, files.getDefaultReplication(
            new org.apache.hadoop.fs.Path(path)), files.getDefaultBlockSize(new org.apache.hadoop.fs.Path(path)),
            CryptoProtocolVersion.supported(), null, null).getFileId();
        return nameNode.addBlock(path, client, null, null, id, null, null);
    }

    /** A file's first block. */
    public static LocatedBlock block(DistributedFileSystem files, org.apache.hadoop.fs.Path path) throws IOException {
        return files.getClient().getLocatedBlocks(path.toString(), 0).get(0);
    }

    /** Waits until the NameNode has heard of so many replicas of each block: it closes a file when it has heard of one. */
    public static void untilKnown(DistributedFileSystem files, org.apache.hadoop.fs.Path path, int replicas)
            throws InterruptedException {
        until(replicas + " replicas of " + path, () -> {
            try {
                return files.getClient().getLocatedBlocks(path.toString(), 0).getLocatedBlocks().stream()
                    .allMatch(block -> block.getLocations().length >= replicas);
            } catch (IOException e) {
                throw new UncheckedIOException(e);
            }
        });
    }

    /** The data files of a block, one for each replica. */
    public final List<Path> replicas(ExtendedBlock block) throws IOException {
        return found(work, block.getBlockName()::equals);
    }

    /** Files below a folder, if there is one, whose names are wanted; daemons may move and delete some of them meanwhile. */
    public static List<Path> found(Path folder, Predicate<String> wanted) throws IOException {
        List<Path> found = new ArrayList<>();
        Files.walkFileTree(folder, new SimpleFileVisitor<>() {
            @Override
            public FileVisitResult visitFile(Path file, BasicFileAttributes attributes) {
                if (wanted.test(file.getFileName().toString())) {
                    found.add(file);
                }
                return FileVisitResult.CONTINUE;
            }

            @Override
            public FileVisitResult visitFileFailed(Path file, IOException cause) {
                return FileVisitResult.CONTINUE; // a daemon has moved or deleted it meanwhile
            }

            @Override
            public FileVisitResult postVisitDirectory(Path directory, IOException cause) {
                return FileVisitResult.CONTINUE; // the same, of a folder
            }
        });
        return found;
    }

    /** Changes all bits of a byte of a file. */
    public static void damage(Path path, long place) throws IOException {
        try (RandomAccessFile file = new RandomAccessFile(path.toFile(), "rw")) {
            file.seek(place);
            int right = file.read();
            file.seek(place);
            file.write(~right);
        }
    }

    /** What each replica of a file's first block holds: read from one DataNode each, with its checksums. */
    public static boolean isEverywhere(DistributedFileSystem files, org.apache.hadoop.fs.Path path, byte[] content, int replicas)
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

    /** Ends the connections that a client, and others of its context, keep for their next reads. */
    public static void closeConnections(DistributedFileSystem files) {
        files.getClient().getClientContext().getPeerCache().close();
    }

    /** Bytes that depend on their count alone. */
    public static byte[] content(int bytes) {
        byte[] content = new byte[bytes];
        new Random(bytes).nextBytes(content);
        return content;
    }

    public static void until(String what, BooleanSupplier condition) throws InterruptedException {
        long deadline = System.nanoTime() + LIMIT_MS * 1_000_000;
        while (!condition.getAsBoolean()) {
            if (System.nanoTime() > deadline) {
                throw new AssertionError("not within " + LIMIT_MS + " ms: " + what);
            }
            Thread.sleep(PAUSE_MS);
        }
    }

    @Override
    public void close() throws IOException {
        dataNodes.forEach(DataNode::shutdown);
        nameNode.stop();
    }
}
