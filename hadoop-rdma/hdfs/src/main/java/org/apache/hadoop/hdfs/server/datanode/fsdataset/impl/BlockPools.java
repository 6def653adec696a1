// SPDX-License-Identifier: Apache-2.0
package org.apache.hadoop.hdfs.server.datanode.fsdataset.impl;

import java.io.IOException;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import org.apache.hadoop.hdfs.server.datanode.DataNode;
import org.apache.hadoop.hdfs.server.datanode.StorageLocation;
import org.apache.hadoop.hdfs.server.datanode.XceiverBridge;
import org.apache.hadoop.hdfs.server.protocol.NamespaceInfo;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The block pools of a DataNode, one for each name space, and its volumes that the configuration does not name: memory and shared
 * path. Hadoop makes a pool's folder, with its version, in configured volumes alone, and takes the replicas of a pool without a
 * version for rubbish at the next start. Pools and volumes come on different threads; the caller holds this object's lock and no
 * lock of replicas.
 */
final class BlockPools {
    private static final Logger LOG = LoggerFactory.getLogger(BlockPools.class);

    private final FsDatasetImpl dataset;
    private final DataNode node;
    private final Map<String, NamespaceInfo> known = new ConcurrentHashMap<>();

    BlockPools(FsDatasetImpl dataset, DataNode node) {
        this.dataset = dataset;
        this.node = node;
    }

    void added(String pool, NamespaceInfo namespace) {
        known.put(pool, namespace);
    }

    /** Needs no lock: a DataNode that ends does not wait for a volume that comes. */
    void removed(String pool) {
        known.remove(pool);
    }

    /** Adds a volume with the folders and replicas of all pools; on failure there is no volume. */
    void addVolume(StorageLocation location) throws IOException {
        try {
            dataset.addVolume(location, List.copyOf(known.values()));
        } catch (IOException | RuntimeException e) {
            dataset.removeVolumes(List.of(location), true); // not a failed volume, for which a DataNode may end
            throw e;
        }
    }

    /** The volumes of memory and shared path. */
    List<FsVolumeImpl> volumes() {
        return dataset.getVolumeList().stream().filter(volume -> volume instanceof MemoryVolume || volume instanceof SharedVolume)
            .toList();
    }

    /**
     * Makes the folder of a pool that is going to be added, in these volumes. One that fails is no volume any more; one on a path
     * that is away gets the pool when the path is back ({@link #catchUp}).
     */
    void prepare(NamespaceInfo namespace) {
        for (FsVolumeImpl volume : volumes()) {
            try {
                if (volume instanceof SharedVolume shared && shared.isAway()) {
                    shared.waitsFor(namespace.getBlockPoolID());
                } else {
                    XceiverBridge.prepare(node, namespace, volume.getStorageLocation());
                }
            } catch (IOException e) {
                LOG.warn("Verbena: {} cannot keep replicas of {}, and is not used until this DataNode starts again: {}", volume,
                    namespace.getBlockPoolID(), e.toString());
                dataset.removeVolumes(List.of(volume.getStorageLocation()), true);
            }
        }
    }

    /** Makes and loads a pool that a volume waits for, if its path is back and there is such a pool. Returns whether it did. */
    boolean catchUp(SharedVolume volume, String pool) throws IOException {
        if (volume.isAway()) {
            return false;
        }
        NamespaceInfo namespace = known.get(pool);
        if (namespace != null) {
            XceiverBridge.prepare(node, namespace, volume.getStorageLocation());
            volume.add(pool, node.getConf());
            load(volume, pool);
        }
        volume.waitsNoMore(pool);
        return namespace != null;
    }

    /** Whether Hadoop loads a pool's replicas into its map of all: it would delete one of two replicas of a block. */
    static boolean isAll(FsDatasetImpl dataset, ReplicaMap found) {
        return found == dataset.volumeMap;
    }

    /** Loads a pool's replicas of one of these volumes, as if the volume came after the pool. */
    void load(FsVolumeImpl volume, String pool) throws IOException {
        ReplicaMap found = new ReplicaMap();
        volume.getVolumeMap(pool, found, dataset.ramDiskReplicaTracker);
        dataset.volumeMap.mergeAll(found);
    }
}
