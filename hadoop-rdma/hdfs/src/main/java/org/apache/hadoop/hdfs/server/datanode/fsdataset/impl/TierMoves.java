// SPDX-License-Identifier: Apache-2.0
package org.apache.hadoop.hdfs.server.datanode.fsdataset.impl;

import java.io.File;
import java.io.IOException;
import org.apache.hadoop.hdfs.DFSUtilClient;
import org.apache.hadoop.hdfs.ExtendedBlockId;
import org.apache.hadoop.hdfs.protocol.ExtendedBlock;
import org.apache.hadoop.hdfs.server.common.HdfsServerConstants.ReplicaState;
import org.apache.hadoop.hdfs.server.datanode.DataNode;
import org.apache.hadoop.hdfs.server.datanode.ReplicaInfo;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** One replica between memory and a slower volume of its DataNode: the copy, its proof, the switch, the word to the NameNode. */
final class TierMoves {
    private static final Logger LOG = LoggerFactory.getLogger(TierMoves.class);

    private final FsDatasetImpl dataset;
    private final DataNode node;
    private final MemoryVolume memory;
    private final MoveGuard guard;
    private final LowerCopies copies;

    TierMoves(FsDatasetImpl dataset, DataNode node, MemoryVolume memory, MoveGuard guard, LowerCopies copies) {
        this.dataset = dataset;
        this.node = node;
        this.memory = memory;
        this.guard = guard;
        this.copies = copies;
    }

    /** A finished replica; null when there is none. */
    ReplicaInfo finished(String pool, long id) {
        ReplicaInfo replica = dataset.volumeMap.get(pool, id);
        return replica == null || replica.getState() != ReplicaState.FINALIZED ? null : replica;
    }

    /** A finished replica in memory; null when it is none. */
    ReplicaInfo inMemory(String pool, long id) {
        ReplicaInfo replica = finished(pool, id);
        return replica == null || !isInMemory(replica) ? null : replica;
    }

    boolean isInMemory(ReplicaInfo replica) {
        return replica.getVolume() == memory;
    }

    /**
     * Makes a copy of a finished replica in memory, unless there is one.
     *
     * @return the volume with the copy; null when there is no such replica
     */
    FsVolumeImpl persist(String pool, long id) throws IOException {
        return guard.move(id, () -> {
            ReplicaInfo replica = inMemory(pool, id);
            try {
                return replica == null ? null : copies.make(pool, replica).volume();
            } catch (VerifiedCopy.DamagedException e) {
                throw damaged(pool, replica, e);
            }
        });
    }

    /** The NameNode hears of damage, unless somebody has changed or deleted the replica while it was compared. */
    private IOException damaged(String pool, ReplicaInfo replica, VerifiedCopy.DamagedException cause) throws IOException {
        if (dataset.volumeMap.get(pool, replica.getBlockId()) != replica) {
            return new IOException("block " + replica.getBlockId() + " has changed while it was compared");
        }
        node.reportBadBlocks(new ExtendedBlock(pool, replica), replica.getVolume());
        return cause;
    }

    /**
     * Moves a finished replica out of memory: to its copy, which is made if there is none.
     *
     * @return the new replica; null when there was none in memory
     * @throws IOException when it stays in memory, with the reason
     */
    ReplicaInfo lower(String pool, long id) throws IOException {
        return guard.move(id, () -> {
            ReplicaInfo upper = inMemory(pool, id);
            if (upper == null || persist(pool, id) == null) {
                return null;
            }
            boolean pinned = isPinned(pool, upper);
            ReplicaInfo lower = guard.locked(pool, () -> {
                guard.checkAlone(pool, upper);
                return copies.lower(pool, upper);
            });
            pin(pool, lower, pinned);
            if (lower != null) {
                hasLeft(pool, upper, lower);
            }
            return lower;
        });
    }

    /** Somebody changes a replica from now on: if it has a copy, the copy is the replica and is changed. */
    void settle(String pool, long id) throws IOException {
        String name = MoveGuard.name(pool, id);
        if (!copies.has(name)) {
            return;
        }
        try {
            guard.locked(pool, () -> {
                ReplicaInfo upper = inMemory(pool, id);
                boolean pinned = upper != null && isPinned(pool, upper);
                ReplicaInfo lower = upper == null || guard.isLeaving(name) ? null : copies.lower(pool, upper);
                pin(pool, lower, pinned);
                if (lower != null) {
                    hasLeft(pool, upper, lower); // under the lock: nobody brings the block back to these names meanwhile
                } else {
                    copies.drop(name);
                }
                return null;
            });
        } catch (IOException e) {
            LOG.warn("Verbena hhh: block {} is changed in memory, because its copy cannot be used: {}", id, e.toString());
            copies.drop(name);
        }
    }

    /** Whether a block's favoured nodes keep it (dfs.datanode.block-pinning.enabled): its file is marked so. */
    private boolean isPinned(String pool, ReplicaInfo replica) {
        try {
            return dataset.getPinning(new ExtendedBlock(pool, replica));
        } catch (IOException e) {
            return false; // the file is gone
        }
    }

    private void pin(String pool, ReplicaInfo now, boolean pinned) {
        if (pinned && now != null) {
            try {
                dataset.setPinning(new ExtendedBlock(pool, now));
            } catch (IOException e) {
                LOG.warn("Verbena hhh: block {} has moved and is no longer pinned to this DataNode: {}", now.getBlockId(),
                    e.toString());
            }
        }
    }

    /** The NameNode hears first: a report of the memory tier without the replica would mean that the block is lost. */
    private void hasLeft(String pool, ReplicaInfo before, ReplicaInfo now) {
        tell(pool, now);
        long data = before.getBytesOnDisk();
        long meta = before.getMetadataLength();
        if (before.deleteBlockData() || !before.blockDataExists()) {
            memory.onBlockFileDeletion(pool, data);
        }
        if (before.deleteMetadata() || !before.metadataExists()) {
            memory.onMetaFileDeletion(pool, meta);
        }
    }

    /** The NameNode and clients that read files by themselves hear of a replica's new place. */
    private void tell(String pool, ReplicaInfo now) {
        ExtendedBlock block = new ExtendedBlock(pool, now);
        node.getShortCircuitRegistry().processBlockInvalidation(ExtendedBlockId.fromExtendedBlock(block));
        node.notifyNamenodeReceivedBlock(block, null, now.getStorageUuid(), false);
    }

    /**
     * Brings a finished replica of a slower volume into memory; its files become the copy.
     *
     * @return the new replica; null when there was none on an SSD or disk
     * @throws IOException when it stays where it is, with the reason
     */
    ReplicaInfo raise(String pool, long id) throws IOException {
        return guard.move(id, () -> {
            ReplicaInfo replica = finished(pool, id);
            if (replica == null || !LowerCopies.isBelow(replica)) {
                return null;
            }
            ReplicaInfo copy = memory.moveBlockToTmpLocation(new ExtendedBlock(pool, replica), replica,
                DFSUtilClient.getSmallBufferSize(node.getConf()), node.getConf());
            try {
                VerifiedCopy.verify(replica, new File(copy.getBlockURI()).toPath(), new File(copy.getMetadataURI()).toPath());
                boolean pinned = isPinned(pool, replica);
                ReplicaInfo up = raised(pool, replica, copy);
                pin(pool, up, pinned);
                tell(pool, up);
                return up;
            } catch (IOException e) {
                copy.deleteBlockData();
                copy.deleteMetadata();
                memory.givenUp(pool, id);
                throw e instanceof VerifiedCopy.DamagedException damage ? damaged(pool, replica, damage) : e;
            }
        });
    }

    private ReplicaInfo raised(String pool, ReplicaInfo before, ReplicaInfo copy) throws IOException {
        return guard.locked(pool, () -> {
            guard.checkAlone(pool, before);
            ReplicaInfo up = memory.addFinalizedBlock(pool, copy, copy, 0);
            try {
                copies.keep(pool, before, true);
            } catch (IOException e) {
                up.deleteBlockData();
                up.deleteMetadata();
                throw e;
            }
            memory.incrNumBlocks(pool);
            dataset.volumeMap.add(pool, up);
            return up;
        });
    }
}
