// SPDX-License-Identifier: Apache-2.0
package org.apache.hadoop.hdfs.server.datanode.fsdataset.impl;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.Map;
import java.util.stream.Stream;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.hdfs.DFSConfigKeys;
import org.apache.hadoop.hdfs.protocol.Block;
import org.apache.hadoop.hdfs.server.common.HdfsServerConstants.ReplicaState;
import org.apache.hadoop.hdfs.server.datanode.DataStorage;
import org.apache.hadoop.hdfs.server.datanode.ReplicaInfo;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Blocks that an earlier run has left in memory and below it. At the start Hadoop makes copies below replicas, which is right
 * after the loss of memory; where memory is still there they become copies again.
 */
final class Leftovers {
    private static final String LIST = "replicas"; // in a block pool's folder
    private static final Logger LOG = LoggerFactory.getLogger(Leftovers.class);

    private Leftovers() {
    }

    /**
     * Finds the replicas of slower volumes whose blocks are in memory, too.
     *
     * @param memory the memory tier's folder, which is no volume yet
     * @return the replicas by block
     */
    static Map<Long, ReplicaInfo> below(FsDatasetImpl dataset, String pool, Path memory) throws IOException {
        Map<Long, ReplicaInfo> below = new HashMap<>();
        try (Stream<Path> all = Files.walk(memory)) {
            all.map(Path::toFile).filter(Block::isBlockFilename).forEach(file -> {
                ReplicaInfo replica = dataset.volumeMap.get(pool, Block.filename2id(file.getName()));
                if (replica != null && LowerCopies.isBelow(replica)) {
                    below.put(replica.getBlockId(), replica);
                }
            });
        }
        return below;
    }

    /** Makes replicas below copies of those in memory, which is a volume now. Where they differ, the newer one stays. */
    static void pair(FsDatasetImpl dataset, MoveGuard guard, LowerCopies copies, String pool, MemoryVolume memory,
            Map<Long, ReplicaInfo> below) throws IOException {
        guard.locked(pool, () -> {
            for (ReplicaInfo lower : below.values()) {
                ReplicaInfo upper = dataset.volumeMap.get(pool, lower.getBlockId());
                if (upper.getVolume() != memory) {
                    continue;
                }
                if (isSame(upper, lower)) {
                    copies.keep(pool, lower, false);
                } else if (isNewer(lower, upper)) {
                    LOG.info("Verbena hhh: {} takes the place of {}, which is older", lower, upper);
                    dataset.volumeMap.add(pool, lower);
                    upper.deleteBlockData();
                    upper.deleteMetadata();
                    memory.ledger().removed();
                }
            }
            return null;
        });
    }

    /** Deletes Hadoop's list of a volume's replicas if there are copies, which it does not name. */
    static void forgetList(FsVolumeImpl volume, String pool, Configuration conf) {
        Path folder = volume.getCurrentDir().toPath().resolve(pool).resolve(DataStorage.STORAGE_DIR_CURRENT);
        if (Files.isDirectory(folder.resolve(DataStorage.STORAGE_DIR_LAZY_PERSIST))) {
            String elsewhere = conf.get(DFSConfigKeys.DFS_DATANODE_REPLICA_CACHE_ROOT_DIR_KEY, "");
            Path list = (elsewhere.isEmpty() ? folder : Path.of(elsewhere, folder.toString())).resolve(LIST);
            try {
                Files.deleteIfExists(list);
            } catch (IOException e) {
                LOG.warn("Verbena hhh: {} does not name copies of blocks in memory; remove it before the next start: {}", list,
                    e.toString());
            }
        }
    }

    private static boolean isSame(ReplicaInfo one, ReplicaInfo other) {
        return one.getState() == ReplicaState.FINALIZED && other.getState() == ReplicaState.FINALIZED
            && one.getGenerationStamp() == other.getGenerationStamp() && one.getNumBytes() == other.getNumBytes();
    }

    /** By the generation stamp, then the length; a finished one is newer than one that was being written. */
    private static boolean isNewer(ReplicaInfo lower, ReplicaInfo upper) {
        if (lower.getGenerationStamp() != upper.getGenerationStamp()) {
            return lower.getGenerationStamp() > upper.getGenerationStamp();
        }
        return lower.getState() == ReplicaState.FINALIZED
            && (upper.getState() != ReplicaState.FINALIZED || lower.getNumBytes() > upper.getNumBytes());
    }
}
