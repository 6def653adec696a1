// SPDX-License-Identifier: Apache-2.0
package org.apache.hadoop.hdfs.server.datanode.fsdataset.impl;

import java.io.EOFException;
import java.io.FileNotFoundException;
import java.io.IOException;
import java.io.InputStream;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.LongAdder;
import java.util.stream.Collectors;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.StorageType;
import org.apache.hadoop.hdfs.protocol.Block;
import org.apache.hadoop.hdfs.protocol.ExtendedBlock;
import org.apache.hadoop.hdfs.server.common.HdfsServerConstants.ReplicaState;
import org.apache.hadoop.hdfs.server.common.Storage.StorageDirectory;
import org.apache.hadoop.hdfs.server.datanode.DataNode;
import org.apache.hadoop.hdfs.server.datanode.DataStorage;
import org.apache.hadoop.hdfs.server.datanode.FileIoProvider;
import org.apache.hadoop.hdfs.server.datanode.Replica;
import org.apache.hadoop.hdfs.server.datanode.ReplicaHandler;
import org.apache.hadoop.hdfs.server.datanode.ReplicaInfo;
import org.apache.hadoop.hdfs.server.datanode.ReplicaNotFoundException;
import org.apache.hadoop.hdfs.server.datanode.StorageLocation;
import org.apache.hadoop.hdfs.server.datanode.XceiverBridge;
import org.apache.hadoop.hdfs.server.datanode.fsdataset.FsVolumeReference;
import org.apache.hadoop.hdfs.server.datanode.fsdataset.FsVolumeSpi;
import org.apache.hadoop.hdfs.server.datanode.fsdataset.FsVolumeSpi.ScanInfo;
import org.apache.hadoop.hdfs.server.protocol.BlockRecoveryCommand.RecoveringBlock;
import org.apache.hadoop.hdfs.server.protocol.NamespaceInfo;
import org.apache.hadoop.hdfs.server.protocol.ReplicaRecoveryInfo;
import org.apache.hadoop.util.DiskChecker.DiskOutOfSpaceException;
import org.apache.hadoop.util.Time;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.verbena.hadoop.hdfs.memory.MemoryLedger;
import org.verbena.hadoop.hdfs.memory.MemoryTier;
import org.verbena.hadoop.hdfs.settings.MoveConf;
import org.verbena.hadoop.hdfs.shared.SharedTier;

/**
 * Hadoop's replicas with one more volume, in memory, and with a slower tier in place of a full one. The NameNode hears of the
 * storage that a replica got, as it does from Hadoop's own.
 */
public final class TieredDataset extends FsDatasetImpl {
    private static final Logger LOG = LoggerFactory.getLogger(TieredDataset.class);
    /** From the fastest to the slowest that takes over. */
    private static final List<StorageType> TIERS = List.of(StorageType.NVDIMM, StorageType.SSD, StorageType.DISK);
    private static final List<StorageType> SHARED = List.of(StorageType.ARCHIVE, StorageType.SSD, StorageType.DISK);

    /** Makes a replica in a tier. */
    private interface Maker {
        ReplicaHandler in(StorageType tier) throws IOException;
    }

    private final DataNode node;
    private final MemoryTier memoryTier;
    private final MoveGuard guard = new MoveGuard(this);
    private final LowerCopies copies = new LowerCopies(this, guard);
    private final BlockPools pools;
    private final MoveConf moveConf;
    private final LongAdder takeovers = new LongAdder();
    private final Set<String> said = ConcurrentHashMap.newKeySet();
    private volatile MemoryVolume memory;
    private final SharedVolumes shared;
    private volatile TierMoves moves;
    private volatile TierManager manager;
    private boolean begun;

    /**
     * As Hadoop's, and with a tier of memory.
     *
     * @param onSharedPath the volumes of a shared path; null without
     */
    public TieredDataset(DataNode node, DataStorage storage, Configuration conf, MemoryTier tier, SharedTier onSharedPath)
            throws IOException {
        super(node, storage, TierChooser.over(conf));
        this.node = node;
        memoryTier = tier;
        pools = new BlockPools(this, node);
        shared = onSharedPath == null ? null : new SharedVolumes(this, pools, node, conf, onSharedPath);
        moveConf = MoveConf.of(conf);
    }

    /** The books of the memory tier; null when there is none. */
    public MemoryLedger ledger() {
        return memory == null ? null : memory.ledger();
    }

    /** The volumes of the shared path; null without one. */
    public SharedTier sharedTier() {
        return shared == null ? null : shared.tier();
    }

    SharedVolumes sharedVolumes() {
        return shared;
    }

    /** How many replicas went to a slower tier than the NameNode had asked for. */
    public long takeovers() {
        return takeovers.sum();
    }

    /** What happened between the tiers since the start, and how many blocks in memory have a copy; none without memory. */
    public Map<String, Long> moved() {
        TierManager by = manager;
        return by == null ? Map.of() : Map.of("tier.evictions", by.evictions(), "tier.promotions", by.promotions(),
            "tier.failures", by.failures(), "tier.copies", (long) copies.size());
    }

    TierManager manager() {
        return manager;
    }

    TierMoves moves() {
        return moves;
    }

    LowerCopies copies() {
        return copies;
    }

    MoveGuard guard() {
        return guard;
    }

    /** Adds the volumes of memory and shared path to the first block pool before its NameNode hears which replicas there are. */
    @Override
    public void addBlockPool(String pool, Configuration conf) throws IOException {
        NamespaceInfo namespace = XceiverBridge.namespace(node, pool);
        synchronized (pools) {
            pools.prepare(namespace);
            AddBlockPoolException failed = null;
            try {
                super.addBlockPool(pool, conf);
            } catch (AddBlockPoolException e) {
                failed = e; // of some volumes; the DataNode goes on with the others
            }
            pools.added(pool, namespace);
            if (begun) {
                loadMore(pool);
            } else {
                begun = true;
                begin(pool, namespace);
            }
            if (failed != null) {
                throw failed;
            }
        }
    }

    /** The replicas of one more block pool, in volumes that are there already. */
    private void loadMore(String pool) {
        for (FsVolumeImpl volume : pools.volumes()) {
            try {
                if (volume == memory) {
                    Map<Long, ReplicaInfo> below = Leftovers.below(this, pool, memoryTier.folder());
                    pools.load(volume, pool);
                    Leftovers.pair(this, guard, copies, pool, memory, below);
                    watch(pool, manager);
                } else {
                    shared.load((SharedVolume) volume, pool);
                }
            } catch (IOException e) {
                LOG.warn("Verbena: the replicas of {} in {} cannot be loaded: {}", pool, volume, e.toString());
                handleVolumeFailures(Set.of(volume));
            }
        }
    }

    /** The shared path comes last: of its replicas those are left out that this DataNode has in another volume, memory as well. */
    private void begin(String pool, NamespaceInfo namespace) {
        addMemory(pool);
        if (shared != null) {
            shared.begin(namespace);
        }
        memoryTier.announce(getVolumeList().stream().collect(Collectors.groupingBy(FsVolumeImpl::getStorageType, TreeMap::new,
            Collectors.summarizingLong(FsVolumeImpl::getCapacity))));
    }

    private void addMemory(String pool) {
        StorageLocation location = memoryTier.prepare(node.getDatanodeUuid());
        if (location != null) {
            try {
                Map<Long, ReplicaInfo> below = Leftovers.below(this, pool, memoryTier.folder());
                pools.addVolume(location);
                manage(pool, below);
            } catch (IOException | RuntimeException e) {
                removeVolumes(List.of(location), true); // not a failed volume, for which a DataNode may end
                memoryTier.failed(e);
            }
        }
    }

    @Override
    public FsVolumeImpl createFsVolume(String id, StorageDirectory folder, StorageLocation location) throws IOException {
        FsVolumeImpl onSharedPath = shared == null ? null : shared.volume(id, folder, location);
        if (onSharedPath != null) {
            return onSharedPath;
        } else if (!memoryTier.is(location)) {
            return super.createFsVolume(id, folder, location);
        }
        FileIoProvider files = memoryTier.refusesSync() ? new UnsyncedFiles(node.getConf(), node) : node.getFileIoProvider();
        memory = new MemoryVolume(this, id, folder, files, node.getConf(), memoryTier.ledger());
        return memory;
    }

    /** Blocks move from now on; copies of an earlier run are found again. */
    private void manage(String pool, Map<Long, ReplicaInfo> below) throws IOException {
        moves = new TierMoves(this, node, memory, guard, copies);
        TierManager made = new TierManager(moveConf, memory.ledger(), moves, copies, Time::monotonicNow);
        memory.onFinished(made::finished);
        Leftovers.pair(this, guard, copies, pool, memory, below);
        watch(pool, made);
        manager = made;
        made.start();
    }

    private void watch(String pool, TierManager by) {
        volumeMap.replicas(pool, all -> all.forEachRemaining(replica -> {
            if (replica.getVolume() == memory && replica.getState() == ReplicaState.FINALIZED) {
                by.finished(pool, replica.getBlockId());
            }
        }));
    }

    /** Changes a replica: in its slower tier, if it has a copy there. */
    private <T> T change(ExtendedBlock block, MoveGuard.Action<T> action) throws IOException {
        return guard.change(block.getBlockPoolId(), block.getBlockId(), () -> {
            if (moves != null) {
                moves.settle(block.getBlockPoolId(), block.getBlockId());
            }
            return action.run();
        });
    }

    /** Deletes the copy below memory of a replica that another one has replaced. */
    void dropCopy(String pool, long id) {
        String name = MoveGuard.name(pool, id);
        try {
            guard.move(id, () -> {
                copies.drop(name);
                return null;
            });
        } catch (IOException e) {
            LOG.warn("Verbena: the copy of block {} below memory stays on its volume, without use: {}", id, e.toString());
        }
    }

    private ReplicaHandler inTierOrSlower(StorageType wanted, ExtendedBlock block, Maker maker) throws IOException {
        IOException full = null;
        for (StorageType next : fromTo(wanted)) {
            try {
                ReplicaHandler made = maker.in(next);
                if (full != null) {
                    takenOver(block, wanted, next, full);
                }
                return made;
            } catch (IOException e) {
                if (!(e instanceof DiskOutOfSpaceException || next == StorageType.ARCHIVE && shared != null)) {
                    throw e;
                }
                full = full == null ? e : full;
            }
        }
        throw full;
    }

    /** The tiers that may hold a replica which was asked for in one of them. */
    private List<StorageType> fromTo(StorageType wanted) {
        int first = TIERS.indexOf(wanted);
        return first >= 0 ? TIERS.subList(first, TIERS.size()) : wanted == StorageType.ARCHIVE && shared != null ? SHARED
            : List.of(wanted);
    }

    private void takenOver(ExtendedBlock block, StorageType wanted, StorageType next, IOException full) {
        takeovers.increment();
        if (said.add(wanted + " " + next)) {
            LOG.info("Verbena hhh: block {} goes to {} in place of {}: {} (said once, the rest is counted)", block.getBlockId(),
                next, wanted, full.getMessage());
        }
    }

    @Override
    public ReplicaHandler createRbw(StorageType type, String id, ExtendedBlock block, boolean lazyPersist, long stamp)
            throws IOException {
        return inTierOrSlower(type, block, tier -> super.createRbw(tier, id, block, lazyPersist, stamp));
    }

    /** A replica that is sent to this node in the middle of being written may grow, nobody says how far: not in memory. */
    @Override
    public ReplicaHandler createTemporary(StorageType type, String id, ExtendedBlock block, boolean transfer)
            throws IOException {
        StorageType wanted = transfer && type == StorageType.NVDIMM ? StorageType.SSD : type;
        return inTierOrSlower(wanted, block, tier -> super.createTemporary(tier, id, block, transfer));
    }

    @Override
    public ReplicaHandler recoverRbw(ExtendedBlock block, long stamp, long least, long most) throws IOException {
        if (inMemory(block)) {
            memory.goesOn(block);
        }
        return super.recoverRbw(block, stamp, least, most);
    }

    @Override
    public ReplicaHandler append(ExtendedBlock block, long stamp, long length) throws IOException {
        return change(block, () -> {
            makeWay(block, length);
            return super.append(block, stamp, length);
        });
    }

    @Override
    public ReplicaHandler recoverAppend(ExtendedBlock block, long stamp, long length) throws IOException {
        return change(block, () -> {
            makeWay(block, length);
            return super.recoverAppend(block, stamp, length);
        });
    }

    @Override
    public Replica recoverClose(ExtendedBlock block, long stamp, long length) throws IOException {
        Replica closed = change(block, () -> super.recoverClose(block, stamp, length));
        persistNow(block);
        return closed;
    }

    @Override
    public ReplicaRecoveryInfo initReplicaRecovery(RecoveringBlock block) throws IOException {
        return change(block.getBlock(), () -> {
            try {
                return super.initReplicaRecovery(block);
            } catch (IOException e) { // if its files are why, it is this thread's replica by now
                if (!UnsyncedFiles.cutOff(volumeMap.get(block.getBlock().getBlockPoolId(), block.getBlock().getBlockId()))) {
                    throw e;
                }
                return super.initReplicaRecovery(block);
            }
        });
    }

    @Override
    public void finalizeBlock(ExtendedBlock block, boolean sync) throws IOException {
        super.finalizeBlock(block, sync);
        persistNow(block);
    }

    private void persistNow(ExtendedBlock block) throws IOException {
        if (manager != null) {
            manager.persistNow(block.getBlockPoolId(), block.getBlockId());
        }
    }

    /** Moves a replica by the word of the mover; to its copy, if it has one there. */
    @Override
    public ReplicaInfo moveBlockAcrossStorage(ExtendedBlock block, StorageType type, String storage) throws IOException {
        ReplicaInfo before = volumeMap.get(block.getBlockPoolId(), block.getLocalBlock());
        return guard.move(block.getBlockId(), () -> change(block, () -> {
            ReplicaInfo now = volumeMap.get(block.getBlockPoolId(), block.getLocalBlock());
            return now != null && now != before && now.getVolume().getStorageType() == type ? before
                : super.moveBlockAcrossStorage(block, type, storage);
        }));
    }

    @Override
    public ReplicaInfo moveBlockAcrossVolumes(ExtendedBlock block, FsVolumeSpi destination) throws IOException {
        return guard.move(block.getBlockId(), () -> change(block, () -> super.moveBlockAcrossVolumes(block, destination)));
    }

    /** Blocks that are going to be deleted no longer move. */
    @Override
    public void invalidate(String pool, Block[] all) throws IOException {
        Block[] blocks = shared == null ? all : shared.deletable(pool, all);
        for (Block block : blocks) {
            if (volumeMap.get(pool, block) != null) {
                guard.leaves(pool, block.getBlockId());
            }
        }
        super.invalidate(pool, blocks);
    }

    @Override
    boolean removeReplicaFromMem(ExtendedBlock block, FsVolumeImpl volume) {
        try {
            if (!super.removeReplicaFromMem(block, volume)) {
                return false;
            }
            copies.drop(MoveGuard.name(block.getBlockPoolId(), block.getBlockId()));
        } catch (IOException e) {
            LOG.warn("Verbena hhh: the copy of the deleted block {} stays until this DataNode starts: {}", block.getBlockId(),
                e.toString());
        } finally {
            guard.left(block.getBlockPoolId(), block.getBlockId());
        }
        return true;
    }

    /** Hadoop remembers a volume's replicas for its next start, which would not look for copies then. */
    @Override
    public void shutdownBlockPool(String pool) {
        super.shutdownBlockPool(pool);
        pools.removed(pool);
        for (FsVolumeImpl volume : getVolumeList()) {
            Leftovers.forgetList(volume, pool, node.getConf());
        }
    }

    @Override
    public void shutdown() {
        if (manager != null) {
            manager.stop();
        }
        super.shutdown();
        if (shared != null) {
            shared.close();
        }
    }

    /** Hadoop leaves what it has copied of a replica that was changed or deleted meanwhile. */
    @Override
    ReplicaInfo copyReplicaToVolume(ExtendedBlock block, ReplicaInfo replica, FsVolumeReference to) throws IOException {
        try {
            return super.copyReplicaToVolume(block, replica, to);
        } catch (IOException e) {
            MemoryVolume.deletePart((FsVolumeImpl) to.getVolume(), block);
            throw e;
        }
    }

    /** Makes a copy the replica, unless the replica has changed since: Hadoop's check overlooks recoveries and deletions. */
    @Override
    void finalizeNewReplica(ReplicaInfo copy, ExtendedBlock block) throws IOException {
        try {
            guard.locked(block.getBlockPoolId(), () -> {
                guard.check(block.getBlockPoolId(), copy);
                super.finalizeNewReplica(copy, block);
                return null;
            });
        } catch (IOException e) {
            copy.deleteBlockData();
            copy.deleteMetadata();
            if (copy.getVolume() instanceof MemoryVolume inMemory) {
                inMemory.givenUp(block.getBlockPoolId(), block.getBlockId());
            }
            throw e;
        }
    }

    @Override
    public InputStream getBlockInputStream(ExtendedBlock block, long offset) throws IOException {
        InputStream in = MovedFiles.look(() -> volumeMap.get(block.getBlockPoolId(), block.getBlockId()),
            () -> super.getBlockInputStream(block, offset));
        ReplicaInfo replica = manager == null ? null : volumeMap.get(block.getBlockPoolId(), block.getBlockId());
        if (replica != null && replica.getState() == ReplicaState.FINALIZED) {
            manager.read(block.getBlockPoolId(), replica);
        }
        return in;
    }

    /** A finished replica is read out of files that were open already. */
    public void countRead(String pool, ReplicaInfo replica) {
        if (manager != null) {
            manager.read(pool, replica);
        }
    }

    @Override
    public long getLength(ExtendedBlock block) throws IOException {
        return MovedFiles.look(() -> volumeMap.get(block.getBlockPoolId(), block.getBlockId()), () -> super.getLength(block));
    }

    /**
     * {@inheritDoc} A DataNode that is to copy a replica and finds no file, or a short one, tells the NameNode that it is corrupt.
     * A mark of this kind would outlive the time for which the path is away.
     */
    @Override
    public void checkBlock(ExtendedBlock block, long least, ReplicaState state) throws IOException {
        try {
            MovedFiles.look(() -> volumeMap.get(block.getBlockPoolId(), block.getBlockId()), () -> {
                super.checkBlock(block, least, state);
                return null;
            });
        } catch (FileNotFoundException | EOFException e) {
            ReplicaInfo replica = volumeMap.get(block.getBlockPoolId(), block.getBlockId());
            if (replica != null && replica.getVolume() instanceof SharedVolume && !SharedVolume.hasLost(replica, least)) {
                throw (IOException) new ReplicaNotFoundException(replica + " lies on a path that is away, or was a moment ago")
                    .initCause(e);
            }
            throw e;
        }
    }

    /** A reader has found no file: the replica is forgotten if it is nowhere. A copy takes its place, or its path comes back. */
    @Override
    public void invalidateMissingBlock(String pool, Block block) {
        if (copies.has(MoveGuard.name(pool, block.getBlockId()))) {
            try {
                change(new ExtendedBlock(pool, block), () -> null);
            } catch (IOException e) {
                LOG.warn("Verbena hhh: the copy of block {} cannot be used: {}", block.getBlockId(), e.toString());
            }
        }
        ReplicaInfo replica = volumeMap.get(pool, block);
        if (replica != null && SharedVolume.hasLost(replica, 0)) {
            super.invalidateMissingBlock(pool, block);
        } else if (replica != null && replica.getVolume() instanceof SharedVolume) {
            shared.missed(); // the NameNode has been told that it is deleted, and is to hear of it again
        }
    }

    /** What the directory scanner saw of a replica that was written to since is no sign of damage. */
    @Override
    public void checkAndUpdate(String pool, ScanInfo seen) throws IOException {
        ReplicaInfo replica = volumeMap.get(pool, seen.getBlockId());
        if (replica != null && SharedVolume.isAway(replica)) {
            return; // the scanner has seen an empty folder in place of the path
        }
        boolean isOld = replica != null && seen.getMetaFile() != null && !seen.getMetaFile().exists()
            && replica.blockDataExists() && replica.metadataExists();
        if (!isOld) {
            super.checkAndUpdate(pool, seen);
        }
    }

    @Override
    public void clearTrash(String pool) {
        if (memory != null) {
            memory.clearsTrash(pool);
        }
        super.clearTrash(pool);
    }

    private boolean inMemory(ExtendedBlock block) {
        return memory != null && getVolume(block) == memory;
    }

    /** A finished replica that is to grow further than its tier has room for goes to a slower one first. */
    private void makeWay(ExtendedBlock block, long length) throws IOException {
        FsVolumeImpl volume = getVolume(block);
        Block replica = volume == null ? null : getStoredBlock(block.getBlockPoolId(), block.getBlockId());
        int slower = volume == null ? 0 : TIERS.indexOf(volume.getStorageType()) + 1;
        if (slower == 0 || slower == TIERS.size() || replica == null || replica.getNumBytes() != length
                || mayGrow(volume, length, block.getNumBytes())) {
            return;
        }
        ExtendedBlock now = new ExtendedBlock(block.getBlockPoolId(), replica);
        if (isValidBlock(now)) {
            inTierOrSlower(TIERS.get(slower), block, tier -> {
                moveBlockAcrossStorage(now, tier, null);
                return null;
            });
        }
    }

    private static boolean mayGrow(FsVolumeImpl volume, long now, long length) throws IOException {
        return volume instanceof MemoryVolume inMemory ? inMemory.mayGrow(now, length) : volume.getAvailable() >= length - now;
    }

    @Override
    public void unfinalizeBlock(ExtendedBlock block) throws IOException {
        super.unfinalizeBlock(block);
        if (memory != null) {
            memory.ledger().removed();
        }
    }

    /** Memory that is gone is no failed disk: the DataNode goes on without it. */
    @Override
    public void handleVolumeFailures(Set<FsVolumeSpi> failed) {
        Set<FsVolumeSpi> others = new HashSet<>(failed);
        if (others.remove(memory)) {
            LOG.warn("Verbena: the memory tier {} is lost; this DataNode goes on without it until it is restarted", memory);
            if (manager != null) {
                manager.memoryLost();
            }
        }
        if (shared != null) {
            shared.keepFrom(others);
        }
        super.handleVolumeFailures(others);
    }
}
