// SPDX-License-Identifier: Apache-2.0
package org.apache.hadoop.hdfs.server.blockmanagement;

import java.util.ArrayList;
import java.util.Collection;
import java.util.EnumMap;
import java.util.EnumSet;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.StorageType;
import org.apache.hadoop.hdfs.AddBlockFlag;
import org.apache.hadoop.hdfs.protocol.BlockStoragePolicy;
import org.apache.hadoop.net.NetworkTopology;
import org.apache.hadoop.net.Node;

/** Hadoop's default placement for other packages: a type that it takes, and its choice of favoured nodes, are not public. */
public abstract class PlacementBridge extends BlockPlacementPolicyDefault {
    /** For subclasses. */
    protected PlacementBridge() {
    }

    /**
     * The default placement is set up.
     *
     * @param conf the NameNode's configuration
     */
    protected abstract void configured(Configuration conf);

    /**
     * Tells which storage types the replicas of a block get.
     *
     * @param chosen the file's storage policy
     * @param replicas how many there are to be in all
     * @return a policy with these types
     */
    protected abstract BlockStoragePolicy planned(BlockStoragePolicy chosen, int replicas);

    /**
     * A writer asks for a new block. An exception goes to the writer.
     *
     * @param source the file
     * @param chosen its storage policy
     * @param replicas how many there are to be in all
     */
    protected abstract void requested(String source, BlockStoragePolicy chosen, int replicas);

    /**
     * Replicas were placed.
     *
     * @param source the file
     * @param planned the storage types that were wanted
     * @param types those that all replicas have now
     */
    protected abstract void placed(String source, BlockStoragePolicy planned, List<StorageType> types);

    /**
     * Tells which of too many replicas may go.
     *
     * @param replicas how many are to stay
     * @param types those of all replicas
     * @param proposed what Hadoop would let go by the file's storage policy
     * @return storage types
     */
    protected abstract List<StorageType> excess(int replicas, List<StorageType> types, List<StorageType> proposed);

    @Override
    DatanodeStorageInfo[] chooseTarget(String source, int replicas, Node writer, Set<Node> excluded, long blockSize,
            List<DatanodeDescriptor> favoured, BlockStoragePolicy policy, EnumSet<AddBlockFlag> flags) {
        requested(source, policy, replicas);
        BlockStoragePolicy plan = planned(policy, replicas);
        return told(source, plan, List.of(), super.chooseTarget(source, replicas, writer, excluded, blockSize, favoured, plan,
            flags));
    }

    @Override
    public DatanodeStorageInfo[] chooseTarget(String source, int more, Node writer, List<DatanodeStorageInfo> chosen,
            boolean returnChosen, Set<Node> excluded, long blockSize, BlockStoragePolicy policy, EnumSet<AddBlockFlag> flags) {
        BlockStoragePolicy plan = planned(policy, chosen.size() + more);
        return told(source, plan, List.copyOf(chosen), super.chooseTarget(source, more, writer, chosen, returnChosen, excluded,
            blockSize, plan, flags));
    }

    @Override
    public DatanodeStorageInfo[] chooseTarget(String source, int more, Node writer, List<DatanodeStorageInfo> chosen,
            boolean returnChosen, Set<Node> excluded, long blockSize, BlockStoragePolicy policy, EnumSet<AddBlockFlag> flags,
            EnumMap<StorageType, Integer> types) {
        BlockStoragePolicy plan = planned(policy, chosen.size() + more);
        return told(source, plan, List.copyOf(chosen), super.chooseTarget(source, more, writer, chosen, returnChosen, excluded,
            blockSize, plan, flags, types));
    }

    private DatanodeStorageInfo[] told(String source, BlockStoragePolicy plan, List<DatanodeStorageInfo> before,
            DatanodeStorageInfo[] targets) {
        List<StorageType> types = types(before);
        types.addAll(types(List.of(targets)));
        if (targets.length > 0) {
            placed(source, plan, types);
        }
        return targets;
    }

    private static List<StorageType> types(Collection<DatanodeStorageInfo> storages) {
        List<StorageType> types = new ArrayList<>();
        storages.forEach(storage -> types.add(storage.getStorageType()));
        return types;
    }

    /**
     * {@inheritDoc} A volume that one DataNode has adopted from another is told by both until the former one wakes, or the NameNode
     * takes it for dead. Both tell one replica, and whoever is told to delete it may be the one that has it: it stays.
     */
    @Override
    public List<DatanodeStorageInfo> chooseReplicasToDelete(Collection<DatanodeStorageInfo> available,
            Collection<DatanodeStorageInfo> candidates, int expected, List<StorageType> excessTypes, DatanodeDescriptor added,
            DatanodeDescriptor hint) {
        List<DatanodeStorageInfo> twice = twice(candidates);
        Map<String, DatanodeStorageInfo> once = new HashMap<>();
        twice.forEach(storage -> once.put(storage.getStorageID(), storage));
        List<DatanodeStorageInfo> there = without(available, twice);
        List<DatanodeStorageInfo> rest = without(candidates, twice);
        int stay = Math.max(0, expected - once.size());
        List<StorageType> types = types(there);
        types.addAll(types(once.values()));
        List<StorageType> planned = new ArrayList<>(excess(expected, types, excessTypes));
        List<DatanodeStorageInfo> chosen = super.chooseReplicasToDelete(there, rest, stay, planned, added, hint);
        return chosen.size() >= rest.size() - stay ? chosen // racks may forbid the planned one
            : super.chooseReplicasToDelete(there, rest, stay, excessTypes, added, hint);
    }

    /** Storages that are told by two DataNodes. */
    private static List<DatanodeStorageInfo> twice(Collection<DatanodeStorageInfo> all) {
        return all.stream().filter(one -> all.stream().anyMatch(other -> other != one
            && other.getStorageID().equals(one.getStorageID()))).toList();
    }

    private static List<DatanodeStorageInfo> without(Collection<DatanodeStorageInfo> all, List<DatanodeStorageInfo> gone) {
        return new ArrayList<>(all.stream().filter(storage -> gone.stream().noneMatch(one -> one == storage)).toList());
    }

    @Override
    public void initialize(Configuration conf, FSClusterStats stats, NetworkTopology topology, Host2NodesMap nodes) {
        super.initialize(conf, stats, topology, nodes);
        configured(conf);
    }
}
