// SPDX-License-Identifier: Apache-2.0
// What the NameNode tells of DataNodes.
package org.verbena.hadoop.hdfs.shared;

import java.io.IOException;
import java.net.URI;
import java.util.HashMap;
import java.util.Map;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.hdfs.DFSClient;
import org.apache.hadoop.hdfs.DFSUtil;
import org.apache.hadoop.hdfs.protocol.DatanodeInfo;
import org.apache.hadoop.hdfs.protocol.HdfsConstants.DatanodeReportType;
import org.apache.hadoop.ipc.RemoteException;

/** Asks all NameNodes of a DataNode's configuration: who is alive for one of them is alive. */
public final class NameNodeReport implements NameNodeView {
    private final Configuration conf;
    private long asked;

    /** For a DataNode's configuration. */
    public NameNodeReport(Configuration conf) {
        this.conf = conf;
    }

    @Override
    public Map<String, String> heartbeats() throws IOException {
        Map<String, String> alive = new HashMap<>();
        for (URI nameNode : DFSUtil.getInternalNsRpcUris(conf)) {
            try (DFSClient client = new DFSClient(nameNode, conf)) {
                for (DatanodeInfo node : client.datanodeReport(DatanodeReportType.LIVE)) {
                    String beat = node.isInMaintenance() ? "in maintenance, look " + ++asked : Long.toString(node.getLastUpdate());
                    alive.merge(node.getDatanodeUuid(), beat, (one, other) -> one + " " + other);
                }
            } catch (RemoteException e) {
                throw e.unwrapRemoteException();
            }
        }
        return alive;
    }
}
