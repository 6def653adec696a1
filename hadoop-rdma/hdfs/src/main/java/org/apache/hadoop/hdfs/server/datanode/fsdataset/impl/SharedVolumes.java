// SPDX-License-Identifier: Apache-2.0
package org.apache.hadoop.hdfs.server.datanode.fsdataset.impl;

import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.hdfs.ExtendedBlockId;
import org.apache.hadoop.hdfs.client.BlockReportOptions;
import org.apache.hadoop.hdfs.protocol.Block;
import org.apache.hadoop.hdfs.protocol.ExtendedBlock;
import org.apache.hadoop.hdfs.server.common.AutoCloseDataSetLock;
import org.apache.hadoop.hdfs.server.common.DataNodeLockManager.LockLevel;
import org.apache.hadoop.hdfs.server.common.HdfsServerConstants.ReplicaState;
import org.apache.hadoop.hdfs.server.common.Storage.StorageDirectory;
import org.apache.hadoop.hdfs.server.datanode.DataNode;
import org.apache.hadoop.hdfs.server.datanode.FileIoProvider;
import org.apache.hadoop.hdfs.server.datanode.ReplicaInPipeline;
import org.apache.hadoop.hdfs.server.datanode.ReplicaInfo;
import org.apache.hadoop.hdfs.server.datanode.StorageLocation;
import org.apache.hadoop.hdfs.server.datanode.XceiverBridge;
import org.apache.hadoop.hdfs.server.datanode.fsdataset.FsVolumeSpi;
import org.apache.hadoop.hdfs.server.protocol.NamespaceInfo;
import org.apache.hadoop.util.Time;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.verbena.hadoop.hdfs.shared.NameNodeReport;
import org.verbena.hadoop.hdfs.shared.SharedThreads;
import org.verbena.hadoop.hdfs.shared.SharedTier;
import org.verbena.hadoop.hdfs.shared.VolumeUser;

/** A DataNode's volumes on the shared path: they come and go while it runs. */
final class SharedVolumes implements VolumeUser, AutoCloseable {
    private static final Logger LOG = LoggerFactory.getLogger(SharedVolumes.class);
    private static final int HEARTBEAT_SECONDS = 3;
    private static final int MILLIS = 1000;

    private final TieredDataset dataset;
    private final BlockPools pools;
    private final DataNode node;
    private final SharedTier tier;
    private final FileIoProvider files;
    private SharedThreads threads;

    SharedVolumes(TieredDataset dataset, BlockPools pools, DataNode node, Configuration conf, SharedTier tier) {
        this.dataset = dataset;
        this.pools = pools;
        this.node = node;
        this.tier = tier;
        files = new SharedFiles(conf, node, tier);
    }

    SharedTier tier() {
        return tier;
    }

    /** Begins with what a DataNode has learnt from the NameNode. */
    void begin(NamespaceInfo namespace) {
        long heartbeat = MILLIS * node.getConf().getTimeDuration("dfs.heartbeat.interval", HEARTBEAT_SECONDS,
            TimeUnit.SECONDS);
        try {
            if (tier.open(node.getDatanodeUuid(), namespace.getClusterID(), XceiverBridge.firstVolume(node), heartbeat, this,
                    new NameNodeReport(node.getConf()))) {
                threads = SharedThreads.begin(tier);
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt(); // the DataNode ends
        }
    }

    private static StorageLocation location(Path data) throws IOException {
        return StorageLocation.parse("[" + SharedTier.TYPE + "]" + data.toUri());
    }

    /** The volume of a location that {@link #serve} has given to Hadoop; null for others. */
    FsVolumeImpl volume(String id, StorageDirectory folder, StorageLocation location) throws IOException {
        return tier.isData(Path.of(location.getUri())) ? new SharedVolume(dataset, id, folder, files, node.getConf(), tier) : null;
    }

    @Override
    public void serve(Path data) throws IOException {
        StorageLocation location = location(data);
        synchronized (pools) {
            pools.addVolume(location);
            try {
                for (FsVolumeImpl volume : dataset.getVolumeList()) {
                    if (volume instanceof SharedVolume shared && volume.getStorageLocation().equals(location)) {
                        settle(shared);
                    }
                }
            } catch (IOException | RuntimeException e) {
                giveBack(data);
                throw e;
            }
        }
        if (!Thread.holdsLock(pools)) {
            report(); // a DataNode that begins does so by itself, and other pools that wait for this one hold locks of reports
        }
    }

    /** An interrupt waits meanwhile: Hadoop's wait for the users of a volume would not sleep. */
    private void giveBack(Path data) {
        boolean interrupted = Thread.interrupted();
        try {
            lost(data);
        } finally {
            if (interrupted) {
                Thread.currentThread().interrupt();
            }
        }
    }

    /** Loads the replicas of one more block pool; those of a path that is away, when it is back. */
    void load(SharedVolume volume, String pool) throws IOException {
        if (volume.waiting().contains(pool)) {
            LOG.warn("Verbena hhh-l: {} is away; its replicas of {} are served when it is back", volume, pool);
            return;
        }
        try {
            pools.load(volume, pool);
        } catch (IOException e) {
            volume.waitsFor(pool);
            throw e;
        }
        settle(volume);
    }

    @Override
    public boolean catchUp() throws IOException {
        if (waiting().isEmpty()) {
            return false;
        }
        boolean some = false;
        IOException failure = null; // of one, which holds up no other
        synchronized (pools) {
            for (SharedVolume volume : waiting()) {
                for (String pool : List.copyOf(volume.waiting())) {
                    try {
                        if (pools.catchUp(volume, pool)) {
                            some = true;
                            settle(volume);
                        }
                    } catch (IOException e) {
                        failure = e;
                    }
                }
            }
        }
        if (some) {
            report();
        }
        if (failure != null) {
            throw failure;
        }
        return some;
    }

    private List<SharedVolume> waiting() {
        return dataset.getVolumeList().stream().filter(SharedVolume.class::isInstance).map(SharedVolume.class::cast)
            .filter(volume -> !volume.waiting().isEmpty()).toList();
    }

    /** Decides on the replicas that were left out when a volume was loaded. */
    void settle(SharedVolume volume) throws IOException {
        settle(volume.takeTwice());
    }

    @Override
    public boolean report() {
        try {
            node.triggerBlockReport(new BlockReportOptions.Factory().setIncremental(false).build());
            return node.isDatanodeFullyStarted();
        } catch (IOException e) {
            LOG.debug("the NameNode gets the report later: {}", e.toString());
            return false;
        }
    }

    /**
     * A DataNode can have one replica of a block. If the one on the shared path stays, the NameNode has the other one made again
     * elsewhere. Hadoop removes the file of a replica that it reads no sooner than its readers have it open.
     *
     * <p>Whoever writes a replica that goes has ended before: both would give back the space that it has reserved. No move of the
     * block runs meanwhile: it would take the other replica for the one that it copies, or bring the block to the names that are
     * deleted here. A writer that ends may wait for a move, so the wait for it does not keep moves out. An interrupt ends the wait,
     * and leaves the replica of that writer and those after it undecided: the one on the shared path is not served.
     */
    void settle(List<SharedVolume.Twice> all) throws IOException {
        for (SharedVolume.Twice twice : all) {
            interruptWriter(twice.pool(), twice.replica());
        }
        WriterStops stops = new WriterStops(node.getDnConf().getXceiverStopTimeout(), Time::monotonicNow);
        for (SharedVolume.Twice twice : all) {
            settle(twice.pool(), twice.replica(), stops);
        }
    }

    /** Whoever writes it writes for a pipeline that has gone on without it. */
    private void interruptWriter(String pool, ReplicaInfo shared) throws IOException {
        dataset.guard().locked(pool, () -> {
            ReplicaInfo own = dataset.volumeMap.get(pool, shared.getBlockId());
            if (NewerReplica.isShared(own, shared) && isWritten(own)) {
                ((ReplicaInPipeline) own).interruptThread();
            }
            return null;
        });
    }

    private void settle(String pool, ReplicaInfo shared, WriterStops stops) throws IOException {
        boolean isPatient = true;
        for (ReplicaInPipeline written = decide(pool, shared, true); written != null; written = decide(pool, shared, isPatient)) {
            isPatient = stops.stop(written);
        }
    }

    /** Returns the replica whose writer has to end first; null when it is decided. */
    private ReplicaInPipeline decide(String pool, ReplicaInfo shared, boolean isPatient) throws IOException {
        return dataset.guard().move(shared.getBlockId(), () -> {
            ReplicaInfo own;
            boolean takes;
            AutoCloseDataSetLock lock = dataset.acquireDatasetLockManager().writeLock(LockLevel.BLOCK_POOl, pool);
            try {
                own = dataset.volumeMap.get(pool, shared.getBlockId());
                takes = NewerReplica.isShared(own, shared);
                if (takes && isPatient && isWritten(own)) {
                    return (ReplicaInPipeline) own;
                } else if (takes) {
                    dataset.volumeMap.add(pool, shared);
                }
            } finally {
                lock.close();
            }
            if (takes) {
                node.getShortCircuitRegistry().processBlockInvalidation(ExtendedBlockId.fromExtendedBlock(
                    new ExtendedBlock(pool, shared)));
                if (own != null) {
                    giveUp(pool, own, shared);
                }
                tell(pool, own, shared);
            } else if (NewerReplica.isWhole(own, shared)) {
                delete(pool, shared);
            } else {
                LOG.info("Verbena hhh-l: {} is not served while this DataNode has {}; its files stay", shared, own);
            }
            return null;
        });
    }

    /** Whether a replica has a writer, or had one that nobody has seen end. */
    private static boolean isWritten(ReplicaInfo replica) {
        return replica instanceof ReplicaInPipeline inPipeline && !inPipeline.attemptToSetWriter(null, null);
    }

    private void giveUp(String pool, ReplicaInfo own, ReplicaInfo shared) {
        if (own.getGenerationStamp() != shared.getGenerationStamp()) {
            LOG.info("Verbena hhh-l: {} takes the place of {}, which is older", shared, own);
        }
        if (own instanceof ReplicaInPipeline inPipeline && !isWritten(own)) {
            inPipeline.releaseAllBytesReserved();
        }
        delete(pool, own);
        dataset.dropCopy(pool, own.getBlockId());
    }

    /**
     * The NameNode forgets what it knows of the own replica and hears of the other one by the full report that follows: a mark that
     * the block is corrupt here would stay, whichever storage has the replica. Of two messages about a block Hadoop sends the later
     * one alone.
     */
    private void tell(String pool, ReplicaInfo own, ReplicaInfo shared) {
        if (own != null) {
            node.notifyNamenodeDeletedBlock(new ExtendedBlock(pool, own), own.getStorageUuid());
        } else if (shared.getState() == ReplicaState.FINALIZED) {
            node.notifyNamenodeReceivedBlock(new ExtendedBlock(pool, shared), null, shared.getStorageUuid(), false);
        }
    }

    private static void delete(String pool, ReplicaInfo replica) {
        FsVolumeImpl volume = (FsVolumeImpl) replica.getVolume();
        long sums = replica.getMetadataLength();
        if (replica.deleteBlockData()) {
            volume.onBlockFileDeletion(pool, replica.getBytesOnDisk());
        }
        if (replica.deleteMetadata()) {
            volume.onMetaFileDeletion(pool, sums);
        }
    }

    /** The lock goes as well: this DataNode may get the volume again, by another name. */
    @Override
    public void lost(Path data) {
        try {
            dataset.removeVolumes(List.of(location(data)), true);
            XceiverBridge.release(node, location(data));
        } catch (IOException e) {
            LOG.warn("Verbena hhh-l: {} has another owner, but is still served: {}", data, e.toString());
        }
    }

    /**
     * The blocks that can be deleted now. Files on a path that is away or does not answer stay, and the NameNode hears of them when
     * it is back.
     */
    Block[] deletable(String pool, Block[] blocks) {
        Block[] now = Stream.of(blocks).filter(block -> {
            ReplicaInfo replica = dataset.volumeMap.get(pool, block);
            return replica == null || !(replica.getVolume() instanceof SharedVolume)
                || tier.answers() && !SharedVolume.isAway(replica);
        }).toArray(Block[]::new);
        if (now.length < blocks.length) {
            missed();
        }
        return now;
    }

    /** The NameNode has to hear of replicas whose path is away when it is back. */
    void missed() {
        tier.missed();
    }

    /** Takes the volumes of the shared path out of those that Hadoop takes for failed disks. */
    void keepFrom(Set<FsVolumeSpi> failed) {
        List<FsVolumeSpi> ours = new ArrayList<>(failed);
        ours.removeIf(volume -> !(volume instanceof SharedVolume));
        if (failed.removeAll(ours)) {
            tier.failed(new IOException("Hadoop's check of the volume has failed"));
        }
    }

    @Override
    public void close() {
        if (threads != null) {
            threads.close();
        }
    }
}
