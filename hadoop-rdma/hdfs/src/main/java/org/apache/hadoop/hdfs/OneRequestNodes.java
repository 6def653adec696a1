// SPDX-License-Identifier: Apache-2.0
package org.apache.hadoop.hdfs;

import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import org.apache.hadoop.hdfs.protocol.DatanodeID;

/**
 * DataNodes that end a connection after one request, as {@code dfs.datanode.socket.reuse.keepalive=0} has them do: requests that
 * go ahead there are lost. Each is asked again after a while, since a restart may change that. Thread safe.
 */
final class OneRequestNodes {
    private static final long PAUSE_NANOS = TimeUnit.MINUTES.toNanos(10);

    /** By the DataNode's identity, when it did so. */
    private final Map<String, Long> seen = new ConcurrentHashMap<>();

    void add(DatanodeID node) {
        seen.put(node.getDatanodeUuid(), System.nanoTime());
    }

    boolean has(DatanodeID node) {
        Long when = seen.get(node.getDatanodeUuid());
        return when != null && System.nanoTime() - when < PAUSE_NANOS;
    }
}
