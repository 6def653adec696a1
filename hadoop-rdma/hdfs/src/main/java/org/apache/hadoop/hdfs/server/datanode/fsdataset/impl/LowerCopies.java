// SPDX-License-Identifier: Apache-2.0
package org.apache.hadoop.hdfs.server.datanode.fsdataset.impl;

import java.io.File;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.ConcurrentHashMap;
import org.apache.hadoop.fs.StorageType;
import org.apache.hadoop.hdfs.server.common.HdfsServerConstants.ReplicaState;
import org.apache.hadoop.hdfs.server.datanode.DatanodeUtil;
import org.apache.hadoop.hdfs.server.datanode.FinalizedReplica;
import org.apache.hadoop.hdfs.server.datanode.ReplicaBuilder;
import org.apache.hadoop.hdfs.server.datanode.ReplicaInfo;
import org.apache.hadoop.hdfs.server.datanode.fsdataset.FsVolumeReference;
import org.apache.hadoop.util.DiskChecker.DiskOutOfSpaceException;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Copies of finished replicas in memory, on a slower volume of the same DataNode. The NameNode knows the replica in memory alone.
 * <pre>
 *   VOLUME/current/POOL/current/lazypersist/subdir../blk_ID, blk_ID_STAMP.meta    a copy
 *   VOLUME/current/POOL/current/finalized/subdir../blk_ID, blk_ID_STAMP.meta      a replica: what a copy becomes
 * </pre>
 * Invariants: C1 whole - a copy has its names when it is written, synced and compared with its checksums. C2 equal - its stamp
 * and length are those of the replica in memory: whoever changes this replica makes the copy the replica first, and changes that.
 * C3 found again - the folder is Hadoop's own for copies of replicas in memory: a DataNode that starts, with Verbena or without,
 * takes what is there as replicas. Both names are links to one file while a copy becomes a replica, so that a crash loses none.
 */
final class LowerCopies {
    private static final Logger LOG = LoggerFactory.getLogger(LowerCopies.class);
    private static final List<StorageType> TIERS = List.of(StorageType.SSD, StorageType.DISK);

    /**
     * A copy's place, and the replica that it is of.
     *
     * @param proved whether this process has compared it with its checksums
     */
    record Copy(FsVolumeImpl volume, Path data, Path meta, long stamp, long length, boolean proved) {
        boolean isOf(ReplicaInfo replica) {
            return replica.getState() == ReplicaState.FINALIZED && replica.getGenerationStamp() == stamp
                && replica.getNumBytes() == length;
        }
    }

    private final FsDatasetImpl dataset;
    private final MoveGuard guard;
    private final Map<String, Copy> copies = new ConcurrentHashMap<>();

    LowerCopies(FsDatasetImpl dataset, MoveGuard guard) {
        this.dataset = dataset;
        this.guard = guard;
    }

    /** Whether a replica lies in a tier below memory that this DataNode alone has: not in one that others see, too. */
    static boolean isBelow(ReplicaInfo replica) {
        return TIERS.contains(replica.getVolume().getStorageType());
    }

    boolean has(String name) {
        return copies.containsKey(name);
    }

    int size() {
        return copies.size();
    }

    /** The place of a copy of a replica in a volume. */
    private static Copy place(FsVolumeImpl volume, String pool, ReplicaInfo replica, boolean proved) throws IOException {
        File folder = DatanodeUtil.idToBlockDir(volume.getLazyPersistDir(pool), replica.getBlockId());
        File data = new File(folder, replica.getBlockName());
        File meta = FsDatasetUtil.getMetaFile(data, replica.getGenerationStamp());
        return new Copy(volume, data.toPath(), meta.toPath(), replica.getGenerationStamp(), replica.getNumBytes(), proved);
    }

    /** The emptiest volume of the fastest slower tier with room. */
    private FsVolumeImpl volumeFor(long bytes) throws IOException {
        for (StorageType tier : TIERS) {
            Optional<FsVolumeImpl> found = dataset.getVolumeList().stream().filter(volume -> volume.getStorageType() == tier
                && available(volume) >= bytes).max(Comparator.comparingLong(LowerCopies::available));
            if (found.isPresent()) {
                return found.get();
            }
        }
        throw new DiskOutOfSpaceException("no SSD or disk of this DataNode has " + bytes + " bytes left");
    }

    private static long available(FsVolumeImpl volume) {
        try {
            return volume.getAvailable();
        } catch (IOException e) {
            return 0; // it fails: Hadoop finds that out
        }
    }

    /** Copies a replica of memory, without a lock, unless it has a copy. Nobody else does it for this replica meanwhile. */
    Copy make(String pool, ReplicaInfo replica) throws IOException {
        String name = MoveGuard.name(pool, replica.getBlockId());
        Copy there = copies.get(name);
        if (there != null && there.isOf(replica)) {
            return there.proved ? there : proved(name, there);
        }
        drop(name); // of an older replica
        FsVolumeImpl volume = volumeFor(replica.getNumBytes() + replica.getMetadataLength());
        FsVolumeReference reference = volume.obtainReference();
        try {
            Copy copy = place(volume, pool, replica, true);
            VerifiedCopy.make(replica, copy.data, copy.meta);
            return added(pool, replica, copy);
        } finally {
            reference.close();
        }
    }

    private Copy added(String pool, ReplicaInfo replica, Copy copy) throws IOException {
        try {
            return guard.locked(pool, () -> {
                guard.checkAlone(pool, replica);
                copies.put(MoveGuard.name(pool, replica.getBlockId()), copy);
                copy.volume.incDfsUsedAndNumBlocks(pool, copy.length + replica.getMetadataLength());
                return copy;
            });
        } catch (IOException e) {
            delete(copy);
            throw e;
        }
    }

    /** A copy of an earlier run is compared before somebody relies on it. */
    private Copy proved(String name, Copy copy) throws IOException {
        try {
            VerifiedCopy.check(copy.data, copy.meta, copy.length);
        } catch (IOException e) {
            drop(name);
            throw e;
        }
        Copy proved = new Copy(copy.volume, copy.data, copy.meta, copy.stamp, copy.length, true);
        return copies.replace(name, copy, proved) ? proved : copy;
    }

    private static void delete(Copy copy) throws IOException {
        Files.deleteIfExists(copy.meta);
        Files.deleteIfExists(copy.data);
    }

    /** Deletes a copy, if there is one: its replica is deleted, or another one now. */
    void drop(String name) throws IOException {
        Copy copy = copies.remove(name);
        if (copy != null) {
            String pool = name.substring(0, name.lastIndexOf('/'));
            long meta = Files.exists(copy.meta) ? Files.size(copy.meta) : 0;
            delete(copy);
            copy.volume.onBlockFileDeletion(pool, copy.length);
            copy.volume.onMetaFileDeletion(pool, meta);
        }
    }

    /**
     * Makes the copy the replica, under the lock of {@link MoveGuard#locked}. The files in memory stay.
     *
     * @param now the replica in memory, which is finished
     * @return the new replica; null when there is no copy of this replica
     */
    ReplicaInfo lower(String pool, ReplicaInfo now) throws IOException {
        String name = MoveGuard.name(pool, now.getBlockId());
        Copy copy = copies.get(name);
        if (copy == null || !copy.isOf(now)) {
            drop(name);
            return null;
        }
        FsVolumeReference reference = copy.volume.obtainReference();
        try {
            Path folder = DatanodeUtil.idToBlockDir(copy.volume.getFinalizedDir(pool), now.getBlockId()).toPath();
            Files.createDirectories(folder);
            link(copy.data, folder.resolve(copy.data.getFileName()));
            link(copy.meta, folder.resolve(copy.meta.getFileName()));
            ReplicaInfo replica = new ReplicaBuilder(ReplicaState.FINALIZED).setBlockId(now.getBlockId())
                .setLength(now.getNumBytes()).setGenerationStamp(now.getGenerationStamp()).setFsVolume(copy.volume)
                .setDirectoryToUse(folder.toFile())
                .setLastPartialChunkChecksum(((FinalizedReplica) now).getLastPartialChunkChecksum()).build();
            dataset.volumeMap.add(pool, replica);
            copies.remove(name);
            delete(copy);
            return replica;
        } finally {
            reference.close();
        }
    }

    /**
     * Makes the files of a replica that comes into memory its copy, under the lock of {@link MoveGuard#locked}.
     *
     * @param before the replica on its slower volume, which is finished
     * @throws IOException when they stay the replica's files
     */
    void keep(String pool, ReplicaInfo before, boolean proved) throws IOException {
        Copy copy = place((FsVolumeImpl) before.getVolume(), pool, before, proved);
        Path data = new File(before.getBlockURI()).toPath();
        Path meta = new File(before.getMetadataURI()).toPath();
        Files.createDirectories(copy.data.getParent());
        link(data, copy.data);
        link(meta, copy.meta);
        copies.put(MoveGuard.name(pool, before.getBlockId()), copy);
        if (!before.deleteMetadata() || !before.deleteBlockData()) {
            LOG.warn("Verbena hhh: {} stays beside its copy until Hadoop's scan of the folder", before.getBlockURI());
        }
    }

    private static void link(Path from, Path to) throws IOException {
        Files.deleteIfExists(to); // of a replica that is no longer there
        Files.createLink(to, from);
    }
}
