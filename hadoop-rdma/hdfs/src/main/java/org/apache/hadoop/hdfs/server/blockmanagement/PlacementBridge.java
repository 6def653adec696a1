// SPDX-License-Identifier: Apache-2.0
package org.apache.hadoop.hdfs.server.blockmanagement;

import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.net.NetworkTopology;

/** Hadoop's default placement for classes of other packages: one type that its set-up takes is not public. */
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

    @Override
    public void initialize(Configuration conf, FSClusterStats stats, NetworkTopology topology, Host2NodesMap nodes) {
        super.initialize(conf, stats, topology, nodes);
        configured(conf);
    }
}
