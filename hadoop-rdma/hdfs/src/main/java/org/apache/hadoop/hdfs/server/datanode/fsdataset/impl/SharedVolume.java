// SPDX-License-Identifier: Apache-2.0
package org.apache.hadoop.hdfs.server.datanode.fsdataset.impl;

import java.io.BufferedInputStream;
import java.io.DataInputStream;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.DF;
import org.apache.hadoop.fs.GetSpaceUsed;
import org.apache.hadoop.hdfs.protocol.Block;
import org.apache.hadoop.hdfs.protocol.ExtendedBlock;
import org.apache.hadoop.hdfs.server.common.Storage.StorageDirectory;
import org.apache.hadoop.hdfs.server.datanode.BlockMetadataHeader;
import org.apache.hadoop.hdfs.server.datanode.DatanodeUtil;
import org.apache.hadoop.hdfs.server.datanode.FileIoProvider;
import org.apache.hadoop.hdfs.server.datanode.ReplicaInfo;
import org.apache.hadoop.hdfs.server.datanode.checker.VolumeCheckResult;
import org.apache.hadoop.util.DataChecksum;
import org.apache.hadoop.util.Timer;
import org.verbena.hadoop.hdfs.shared.SharedTier;

/**
 * A volume on a path that all hosts share. A file system there may tell at the end, or never, that it has lost bytes: a replica is
 * finished when its files are as long as they have to be. Nothing here forces data to the servers; {@code hsync} does.
 */
final class SharedVolume extends FsVolumeImpl {
    /** A replica whose block this DataNode has in another volume, too. */
    record Twice(String pool, ReplicaInfo replica) {
    }

    private static final String SPACE = "fs.getspaceused.classname";

    private final FsDatasetImpl dataset;
    private final SharedTier tier;
    private final Path data;
    private final List<Twice> twice = new ArrayList<>();
    /** Pools that came while the path was away. */
    private final Set<String> waiting = ConcurrentHashMap.newKeySet();

    SharedVolume(FsDatasetImpl dataset, String id, StorageDirectory folder, FileIoProvider files, Configuration conf,
            SharedTier tier) throws IOException {
        super(dataset, id, folder, files, conf, new DF(folder.getCurrentDir().getParentFile(), conf));
        this.dataset = dataset;
        this.tier = tier;
        data = folder.getRoot().toPath();
    }

    /** All hosts see the whole file system: each volume may fill its part. */
    @Override
    public long getCapacity() {
        return tier.share(super.getCapacity());
    }

    @Override
    public long getAvailable() throws IOException {
        return tier.takesReplicas() ? super.getAvailable() : 0;
    }

    /** Used space by the replicas that are known, not by {@code du}, which would ask the servers for each file. */
    @Override
    void addBlockPool(String pool, Configuration conf, Timer timer) throws IOException {
        if (!waiting.contains(pool)) { // Hadoop would make folders where the path is not mounted
            add(pool, conf, timer);
        }
    }

    private void add(String pool, Configuration conf, Timer timer) throws IOException {
        Configuration counted = new Configuration(conf);
        counted.setClass(SPACE, ReplicaCachingGetSpaceUsed.class, GetSpaceUsed.class);
        super.addBlockPool(pool, counted, timer);
    }

    @Override
    long getBlockPoolUsed(String pool) throws IOException {
        return getBlockPoolSlices().containsKey(pool) ? super.getBlockPoolUsed(pool) : 0;
    }

    /** The path is away: {@link BlockPools#catchUp} adds and loads the pool when it is back. */
    void waitsFor(String pool) {
        waiting.add(pool);
    }

    void waitsNoMore(String pool) {
        waiting.remove(pool);
    }

    Set<String> waiting() {
        return Set.copyOf(waiting);
    }

    /** Adds a pool that waits, unless an earlier try has done so. */
    void add(String pool, Configuration conf) throws IOException {
        if (!getBlockPoolSlices().containsKey(pool)) {
            add(pool, conf, null);
        }
    }

    /**
     * Loads the replicas. Of those that this DataNode has in another tier, too, Hadoop would forget the other one, which may be
     * newer or be written to: they are left out here, and {@link SharedVolumes} decides later.
     */
    @Override
    void getVolumeMap(String pool, ReplicaMap found, RamDiskReplicaTracker tracker) throws IOException {
        if (BlockPools.isAll(dataset, found)) {
            return; // they come after those of other volumes: BlockPools.load
        }
        super.getVolumeMap(pool, found, tracker);
        found.replicas(pool, all -> {
            while (all.hasNext()) {
                ReplicaInfo replica = all.next();
                if (replica.getVolume() == this && dataset.volumeMap.get(pool, replica.getBlockId()) != null) {
                    twice.add(new Twice(pool, replica));
                    all.remove();
                }
            }
        });
    }

    /** The replicas that were left out, once. */
    List<Twice> takeTwice() {
        List<Twice> all = List.copyOf(twice);
        twice.clear();
        return all;
    }

    /**
     * Always well. Hadoop takes a volume that is not away for good, and may end its DataNode; a path that does not answer comes
     * back, and {@link SharedTier} looks after it.
     */
    @Override
    public VolumeCheckResult check(VolumeCheckContext ignored) {
        return VolumeCheckResult.HEALTHY;
    }

    @Override
    ReplicaInfo addFinalizedBlock(String pool, Block block, ReplicaInfo replica, long reserved) throws IOException {
        try {
            checkLength(replica);
        } catch (IOException e) {
            tier.failed(e);
            throw e;
        }
        ReplicaInfo done = super.addFinalizedBlock(pool, block, replica, reserved);
        if (getCurrentDir().isDirectory() && isAway()) {
            throw new IOException(this + " has another owner: block " + block.getBlockId() + " lies in a folder that was made anew "
                + "by the name that the volume had, and does not count");
        }
        return done;
    }

    /**
     * {@inheritDoc} Hadoop would make the folders above as well, also where the volume has another name now or nothing is mounted,
     * and the copy would take the place of the replica.
     */
    @Override
    public ReplicaInfo moveBlockToTmpLocation(ExtendedBlock block, ReplicaInfo replica, int buffer, Configuration conf)
            throws IOException {
        getFileIoProvider().mkdirsWithExistsCheck(this, DatanodeUtil.idToBlockDir(getTmpDir(block.getBlockPoolId()),
            block.getBlockId()));
        return super.moveBlockToTmpLocation(block, replica, buffer, conf);
    }

    /** Whether a replica lies on a path that is not there for now: its files come back with it. */
    static boolean isAway(ReplicaInfo replica) {
        return replica.getVolume() instanceof SharedVolume volume && volume.isAway();
    }

    /** Also where its folders were made anew, by what began before another DataNode has adopted it, or before the path went. */
    boolean isAway() {
        return !SharedTier.isThere(data);
    }

    /** Whether a file of a replica is gone, or has fewer bytes than it has to have, and its volume is there. */
    static boolean hasLost(ReplicaInfo replica, long least) {
        return !isAway(replica) && !(replica.blockDataExists() && replica.metadataExists()
            && replica.getBlockDataLength() >= least) && !isAway(replica);
    }

    /** Closed files that are shorter than what was written to them. */
    static void checkLength(ReplicaInfo replica) throws IOException {
        long data = replica.getBlockDataLength();
        if (data != replica.getNumBytes()) {
            throw new IOException("the file system keeps " + data + " of the " + replica.getNumBytes() + " bytes of block "
                + replica.getBlockId() + " although no write has failed");
        }
        try (DataInputStream in = new DataInputStream(new BufferedInputStream(replica.getMetadataInputStream(0),
                BlockMetadataHeader.getHeaderSize()))) {
            DataChecksum sums = BlockMetadataHeader.readHeader(in).getChecksum();
            long chunks = (data + sums.getBytesPerChecksum() - 1) / sums.getBytesPerChecksum();
            long wanted = BlockMetadataHeader.getHeaderSize() + chunks * sums.getChecksumSize();
            if (replica.getMetadataLength() != wanted) {
                throw new IOException("the file system keeps " + replica.getMetadataLength() + " of the " + wanted
                    + " bytes of the checksums of block " + replica.getBlockId() + " although no write has failed");
            }
        }
    }
}
