// SPDX-License-Identifier: Apache-2.0
// Moves of replicas against everybody else who changes them.
package org.apache.hadoop.hdfs.server.datanode.fsdataset.impl;

import java.io.IOException;
import java.util.Arrays;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import org.apache.hadoop.hdfs.protocol.Block;
import org.apache.hadoop.hdfs.server.common.AutoCloseDataSetLock;
import org.apache.hadoop.hdfs.server.common.DataNodeLockManager.LockLevel;
import org.apache.hadoop.hdfs.server.common.HdfsServerConstants.ReplicaState;
import org.apache.hadoop.hdfs.server.datanode.ReplicaInfo;

/**
 * Lets a move lose against an append, a recovery or a deletion of its block. A move copies without a lock. Its switch from the
 * old files to the new ones holds the block pool's lock alone: nobody reads or changes the map of replicas meanwhile.
 */
final class MoveGuard {
    /** What is done under a lock, or while a replica changes. */
    interface Action<T> {
        T run() throws IOException;
    }

    private static final int LOCKS = 256;

    private final FsDatasetImpl dataset;
    /** One for some blocks each. Taken before the lock of a block pool, never the other way. */
    private final Object[] moving = new Object[LOCKS];
    private final Map<String, Integer> changing = new ConcurrentHashMap<>();
    private final Set<String> leaving = ConcurrentHashMap.newKeySet();

    MoveGuard(FsDatasetImpl dataset) {
        this.dataset = dataset;
        Arrays.setAll(moving, lock -> new Object());
    }

    /** How a replica is called, as in the books of the memory tier. */
    static String name(String pool, long id) {
        return pool + "/" + Block.BLOCK_FILE_PREFIX + id;
    }

    /**
     * Moves or copies a block when nobody else does, to the end: the files that it leaves are deleted by name, and another move
     * may bring the block back to that name.
     */
    <T> T move(long id, Action<T> action) throws IOException {
        synchronized (moving[Math.floorMod(id, LOCKS)]) {
            return action.run();
        }
    }

    /** Holds the lock of all replicas of a block pool. The caller holds no other lock of replicas. */
    <T> T locked(String pool, Action<T> action) throws IOException {
        AutoCloseDataSetLock lock = dataset.acquireDatasetLockManager().writeLock(LockLevel.BLOCK_POOl, pool);
        try {
            return action.run();
        } finally {
            lock.close();
        }
    }

    /** Changes a replica: no tier's move of it begins its switch until the change is over. */
    <T> T change(String pool, long id, Action<T> action) throws IOException {
        String name = name(pool, id);
        changing.merge(name, 1, Integer::sum);
        try {
            dataset.acquireDatasetLockManager().readLock(LockLevel.BLOCK_POOl, pool).close(); // a switch that has begun is over
            return action.run();
        } finally {
            changing.computeIfPresent(name, (key, times) -> times == 1 ? null : times - 1);
        }
    }

    /** The NameNode wants a replica to be deleted: nobody moves it any more. */
    void leaves(String pool, long id) {
        leaving.add(name(pool, id));
    }

    /** A replica is deleted, or is not going to be. */
    void left(String pool, long id) {
        leaving.remove(name(pool, id));
    }

    boolean isLeaving(String name) {
        return leaving.contains(name);
    }

    /**
     * Checks, under {@link #locked}, that a finished replica is still the one that was copied.
     *
     * @param copied the replica as it was when its copy began, or the copy
     * @throws IOException when it is another one, or somebody writes to it or recovers it
     */
    void check(String pool, ReplicaInfo copied) throws IOException {
        ReplicaInfo now = dataset.volumeMap.get(pool, copied.getBlockId());
        String why = now == null || leaving.contains(name(pool, copied.getBlockId())) ? "it is deleted"
            : now.getState() != ReplicaState.FINALIZED ? "its state is " + now.getState()
            : now.getGenerationStamp() != copied.getGenerationStamp() ? "its generation stamp is " + now.getGenerationStamp()
            : now.getNumBytes() != copied.getNumBytes() ? "its length is " + now.getNumBytes() : null;
        if (why != null) {
            throw new IOException("block " + copied.getBlockId() + " is not moved: " + why + " since its copy was begun; the "
                + "copy is thrown away");
        }
    }

    /** As {@link #check}, for a tier's own move: nobody may have begun to change the replica, or have moved it. */
    void checkAlone(String pool, ReplicaInfo copied) throws IOException {
        if (changing.containsKey(name(pool, copied.getBlockId()))) {
            throw new IOException("block " + copied.getBlockId() + " is not moved: it is being changed");
        }
        check(pool, copied);
        if (dataset.volumeMap.get(pool, copied.getBlockId()).getVolume() != copied.getVolume()) {
            throw new IOException("block " + copied.getBlockId() + " is not moved: it has another place already");
        }
    }
}
