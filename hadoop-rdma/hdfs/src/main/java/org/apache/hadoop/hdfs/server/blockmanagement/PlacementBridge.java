// SPDX-License-Identifier: Apache-2.0
package org.apache.hadoop.hdfs.server.blockmanagement;

import java.util.EnumSet;
import java.util.List;
import java.util.Set;
import org.apache.hadoop.conf.Configuration;
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

    @Override
    DatanodeStorageInfo[] chooseTarget(String source, int replicas, Node writer, Set<Node> excluded, long blockSize,
            List<DatanodeDescriptor> favoured, BlockStoragePolicy policy, EnumSet<AddBlockFlag> flags) {
        return super.chooseTarget(source, replicas, writer, excluded, blockSize, favoured, planned(policy, replicas), flags);
    }

    @Override
    public void initialize(Configuration conf, FSClusterStats stats, NetworkTopology topology, Host2NodesMap nodes) {
        super.initialize(conf, stats, topology, nodes);
        configured(conf);
    }
}
