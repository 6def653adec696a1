// SPDX-License-Identifier: Apache-2.0
// Hadoop's own NameNode and DataNode in this JVM, with tiers in folders of a test.
package org.apache.hadoop.hdfs.server.datanode.fsdataset.impl;

import java.io.IOException;
import java.io.OutputStream;
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
import org.apache.commons.io.FileUtils;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.StorageType;
import org.apache.hadoop.hdfs.DistributedFileSystem;
import org.apache.hadoop.hdfs.HdfsConfiguration;
import org.apache.hadoop.hdfs.protocol.Block;
import org.apache.hadoop.hdfs.protocol.ExtendedBlock;
import org.apache.hadoop.hdfs.protocol.LocatedBlock;
import org.apache.hadoop.hdfs.server.blockmanagement.DatanodeDescriptor;
import org.apache.hadoop.hdfs.server.datanode.DataNode;
import org.apache.hadoop.hdfs.server.datanode.ReplicaInfo;
import org.apache.hadoop.hdfs.server.namenode.NameNode;
import org.apache.hadoop.metrics2.lib.DefaultMetricsSystem;
import org.verbena.hadoop.hdfs.tier.VerbenaDatasetFactory;

/** One NameNode and one DataNode; files of a folder with the policy ALL_NVDIMM go to memory, with one replica. */
final class TierCluster implements AutoCloseable {
    static final int BLOCK = 1 << 20;
    private static final int CHUNK_SUMS = BLOCK / 512 * 4 + 7;
    private static final int PAGE = 4096;
    /** What a whole block takes in memory. */
    static final long WHOLE = BLOCK + (CHUNK_SUMS + PAGE - 1) / PAGE * PAGE;
    private static final List<String> TIERS = List.of("memory", "ssd", "disk");
    private static final long LIMIT_MS = 120_000;
    private static final long PAUSE_MS = 20;
    private static final org.apache.hadoop.fs.Path MEMORY = new org.apache.hadoop.fs.Path("/memory");

    private final Path work;
    private final Configuration conf = new HdfsConfiguration();
    private final NameNode nameNode;
    private DataNode dataNode;
    private final DistributedFileSystem files;

    TierCluster(Path work, long memory, Map<String, String> settings) throws Exception {
        this.work = work;
        conf.set("fs.defaultFS", "hdfs://127.0.0.1:0");
        conf.set("dfs.namenode.name.dir", work.resolve("name").toUri().toString());
        conf.set("dfs.datanode.data.dir", "[SSD]" + work.resolve("ssd").toUri() + ",[DISK]" + work.resolve("disk").toUri());
        for (String address : List.of("namenode.http-address", "datanode.address", "datanode.http.address",
                "datanode.ipc.address")) {
            conf.set("dfs." + address, "127.0.0.1:0");
        }
        conf.setLong("dfs.blocksize", BLOCK);
        conf.setLong("dfs.namenode.fs-limits.min-block-size", 1);
        conf.setInt("dfs.replication", 1);
        conf.setInt("dfs.heartbeat.interval", 1);
        conf.set("dfs.namenode.redundancy.interval.seconds", "50ms");
        conf.setLong("dfs.datanode.du.reserved", 0);
        conf.set("dfs.datanode.fsdataset.factory", VerbenaDatasetFactory.class.getName());
        conf.set("verbena.hdfs.mode", "hhh");
        conf.set("verbena.hdfs.memory.dir", work.resolve("memory").toString());
        conf.set("verbena.hdfs.memory.size", Long.toString(memory));
        settings.forEach(conf::set);
        makePages();
        DefaultMetricsSystem.setMiniClusterMode(true); // several daemons in this JVM
        NameNode.format(conf);
        nameNode = NameNode.createNameNode(new String[0], conf);
        conf.set("fs.defaultFS", "hdfs://127.0.0.1:" + nameNode.getNameNodeAddress().getPort());
        start();
        files = (DistributedFileSystem) new org.apache.hadoop.fs.Path("/").getFileSystem(conf);
        files.mkdirs(MEMORY);
        files.setStoragePolicy(MEMORY, "ALL_NVDIMM");
    }

    /** The daemons look for their web pages on the class path, and Hadoop's jars have none: empty folders stand for them. */
    private static void makePages() throws Exception {
        Path classes = Path.of(TierCluster.class.getProtectionDomain().getCodeSource().getLocation().toURI());
        for (String daemon : List.of("hdfs", "datanode")) {
            Files.createDirectories(classes.resolve("webapps").resolve(daemon));
        }
    }

    /** Starts the DataNode again, which has stopped. The NameNode knows its replicas anew. */
    void start() throws IOException, InterruptedException {
        dataNode = DataNode.createDataNode(new String[0], new Configuration(conf));
        until("the DataNode serves", () -> dataNode.isDatanodeFullyStarted() && isReported());
    }

    /** Whether the NameNode has each storage's report of this run of the DataNode. */
    private boolean isReported() {
        try {
            DatanodeDescriptor known = nameNode.getNamesystem().getBlockManager().getDatanodeManager()
                .getDatanode(dataNode.getDatanodeUuid());
            return known != null && known.getXferPort() == dataNode.getXferPort()
                && Arrays.stream(known.getStorageInfos()).allMatch(storage -> storage.getBlockReportCount() > 0);
        } catch (RuntimeException e) {
            return false; // it is being registered
        }
    }

    /** Forgets all that is in memory, as a host does that is switched off. */
    void loseMemory() throws IOException {
        FileUtils.deleteDirectory(work.resolve("memory").toFile());
    }

    /** Stops the DataNode. */
    void stop() {
        dataNode.shutdown();
    }

    DistributedFileSystem files() {
        return files;
    }

    DataNode dataNode() {
        return dataNode;
    }

    TieredDataset dataset() {
        return (TieredDataset) dataNode.getFSDataset();
    }

    Configuration conf() {
        return conf;
    }

    static org.apache.hadoop.fs.Path path(String name) {
        return new org.apache.hadoop.fs.Path(MEMORY, name);
    }

    /** Bytes that depend on the name alone. */
    static byte[] content(String name, int bytes) {
        byte[] content = new byte[bytes];
        new Random(name.hashCode()).nextBytes(content);
        return content;
    }

    /** Writes a file to memory and tells its first block. */
    ExtendedBlock write(String name, int bytes) throws IOException {
        try (OutputStream out = files.create(path(name))) {
            out.write(content(name, bytes));
        }
        return block(name);
    }

    byte[] read(String name) throws IOException {
        try (var in = files.open(path(name))) {
            return in.readAllBytes();
        }
    }

    private LocatedBlock located(String name) throws IOException {
        return files.getClient().getLocatedBlocks(path(name).toString(), 0).get(0);
    }

    ExtendedBlock block(String name) throws IOException {
        return located(name).getBlock();
    }

    /** The tier of a file's first block as the NameNode knows it; null when it knows of no replica. */
    StorageType told(String name) throws IOException {
        StorageType[] types = located(name).getStorageTypes();
        return types == null || types.length == 0 ? null : types[0];
    }

    /** The tier of a block as the DataNode knows it; null when it has none. */
    StorageType kept(ExtendedBlock block) {
        ReplicaInfo replica = replica(block);
        return replica == null ? null : replica.getVolume().getStorageType();
    }

    /** A block's replica in the DataNode's map; null when there is none. */
    ReplicaInfo replica(ExtendedBlock block) {
        return dataset().volumeMap.get(block.getBlockPoolId(), block.getBlockId());
    }

    /** The DataNode's volume of a type. */
    FsVolumeImpl volume(StorageType type) {
        return dataset().getVolumeList().stream().filter(volume -> volume.getStorageType() == type).findFirst().orElseThrow();
    }

    /** The data files of a block, of all if it is null, below a folder of a tier: "memory", "ssd", "disk". */
    List<Path> found(String tier, ExtendedBlock block) throws IOException {
        List<Path> found = new ArrayList<>();
        if (Files.isDirectory(work.resolve(tier))) {
            Files.walkFileTree(work.resolve(tier), new SimpleFileVisitor<>() {
                @Override
                public FileVisitResult visitFile(Path file, BasicFileAttributes attributes) {
                    if (block == null ? Block.isBlockFilename(file.toFile())
                            : file.getFileName().toString().equals(block.getBlockName())) {
                        found.add(file);
                    }
                    return FileVisitResult.CONTINUE;
                }

                @Override
                public FileVisitResult visitFileFailed(Path file, IOException cause) {
                    return FileVisitResult.CONTINUE; // the DataNode has deleted it meanwhile
                }
            });
        }
        return found;
    }

    /** Deletes a file of one block, and waits for the DataNode, which forgets a replica first and deletes its files later. */
    void delete(String name, ExtendedBlock block) throws Exception {
        files.delete(path(name), false);
        untilGone(block);
    }

    /** Waits until nothing of a block is left: no replica, no copy, no file, no byte in the books. */
    void untilGone(ExtendedBlock block) throws InterruptedException {
        until("nothing of block " + block + " is left", () -> replica(block) == null
            && !dataset().copies().has(MoveGuard.name(block.getBlockPoolId(), block.getBlockId()))
            && TIERS.stream().allMatch(tier -> hasNone(tier, block)) && dataset().getPendingAsyncDeletions() == 0);
    }

    private boolean hasNone(String tier, ExtendedBlock block) {
        try {
            return found(tier, block).isEmpty();
        } catch (IOException e) {
            throw new AssertionError(e);
        }
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

    /** Waits until the NameNode knows the tier of a file's first block. */
    void untilTold(String name, StorageType tier) throws InterruptedException {
        until("the NameNode knows that " + name + " is in " + tier, () -> {
            try {
                return told(name) == tier;
            } catch (IOException e) {
                throw new AssertionError(e);
            }
        });
    }

    @Override
    public void close() throws IOException {
        files.close();
        dataNode.shutdown();
        nameNode.stop();
    }
}
