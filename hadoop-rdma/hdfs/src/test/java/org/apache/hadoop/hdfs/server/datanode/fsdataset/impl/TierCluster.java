// SPDX-License-Identifier: Apache-2.0
// Hadoop's own NameNode and DataNode in this JVM, with tiers in folders of a test.
package org.apache.hadoop.hdfs.server.datanode.fsdataset.impl;

import java.io.File;
import java.io.IOException;
import java.io.OutputStream;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Random;
import org.apache.commons.io.FileUtils;
import org.apache.hadoop.fs.StorageType;
import org.apache.hadoop.hdfs.DistributedFileSystem;
import org.apache.hadoop.hdfs.LocalHdfs;
import org.apache.hadoop.hdfs.protocol.Block;
import org.apache.hadoop.hdfs.protocol.ExtendedBlock;
import org.apache.hadoop.hdfs.protocol.LocatedBlock;
import org.apache.hadoop.hdfs.server.blockmanagement.DatanodeDescriptor;
import org.apache.hadoop.hdfs.server.datanode.DataNode;
import org.apache.hadoop.hdfs.server.datanode.ReplicaInfo;
import org.verbena.hadoop.hdfs.tier.VerbenaDatasetFactory;

/** One DataNode; files of a folder with the policy ALL_NVDIMM go to memory, with one replica. */
final class TierCluster extends LocalHdfs {
    static final int BLOCK = 1 << 20;
    private static final int CHUNK_SUMS = BLOCK / 512 * 4 + 7;
    private static final int PAGE = 4096;
    /** What a whole block takes in memory. */
    static final long WHOLE = BLOCK + (CHUNK_SUMS + PAGE - 1) / PAGE * PAGE;
    private static final List<String> TIERS = List.of("memory", "ssd", "disk");
    private static final org.apache.hadoop.fs.Path MEMORY = new org.apache.hadoop.fs.Path("/memory");

    private final Path work;
    private final String folders;
    private DataNode dataNode;
    private final DistributedFileSystem files;

    TierCluster(Path work, long memory, Map<String, String> settings) throws Exception {
        super(work, Map.of("dfs.blocksize", Integer.toString(BLOCK), "dfs.replication", "1",
            "dfs.namenode.redundancy.interval.seconds", "50ms", "dfs.datanode.fsdataset.factory",
            VerbenaDatasetFactory.class.getName(), "verbena.hdfs.mode", "hhh", "verbena.hdfs.memory.dir",
            work.resolve("memory").toString(), "verbena.hdfs.memory.size", Long.toString(memory)), settings);
        this.work = work;
        this.folders = "[SSD]" + work.resolve("ssd").toUri() + ",[DISK]" + work.resolve("disk").toUri();
        start();
        files = client();
        files.mkdirs(MEMORY);
        files.setStoragePolicy(MEMORY, "ALL_NVDIMM");
    }

    /** Starts the DataNode again, which has stopped. The NameNode knows its replicas anew. */
    void start() throws IOException, InterruptedException {
        dataNode = start(folders);
        until("the NameNode has its report", this::isReported);
    }

    /** Whether the NameNode has each storage's report of this run of the DataNode. */
    private boolean isReported() {
        try {
            DatanodeDescriptor known = nameNode().getNamesystem().getBlockManager().getDatanodeManager()
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
        stop(dataNode);
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
        return found(work.resolve(tier), name -> block == null ? Block.isBlockFilename(new File(name))
            : name.equals(block.getBlockName()));
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
        super.close();
    }
}
