// SPDX-License-Identifier: Apache-2.0
package org.apache.hadoop.hdfs;

import java.io.Closeable;
import java.io.IOException;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import org.apache.hadoop.hdfs.protocol.DatanodeInfo;
import org.apache.hadoop.hdfs.protocol.LocatedBlock;

/** Writes all replicas of a new block side by side, on the caller's thread. */
final class ReplicaWriters implements Closeable {
    /** Something that is done with each replica. */
    @FunctionalInterface
    interface Step {
        void with(ReplicaWriter replica) throws IOException;
    }

    private final DFSClient client;
    private final LocatedBlock block;
    private final List<ReplicaWriter> replicas = new ArrayList<>();
    private int current;

    ReplicaWriters(DFSClient client, LocatedBlock block) {
        this.client = client;
        this.block = block;
    }

    /**
     * Sends everything to every DataNode, then waits until each has acknowledged everything.
     *
     * @param packets of the whole block, the last one its end
     * @param request sends a request for the block
     * @throws IOException of the replica that {@link #failing} names
     */
    void write(Collection<DFSPacket> packets, Step request) throws IOException {
        for (current = 0; current < block.getLocations().length; current++) {
            replicas.add(new ReplicaWriter(client, block, current));
        }
        each(request);
        for (DFSPacket packet : packets) {
            each(replica -> replica.send(packet));
        }
        each(ReplicaWriter::flush);
        each(ReplicaWriter::awaitReady);
        for (DFSPacket packet : packets) {
            each(replica -> replica.awaitAck(packet.getSeqno()));
        }
    }

    private void each(Step step) throws IOException {
        for (current = 0; current < replicas.size(); current++) {
            step.with(replicas.get(current));
        }
    }

    /** After an exception: the DataNode that was being spoken to; null when the block has none. */
    DatanodeInfo failing() {
        return current < block.getLocations().length ? block.getLocations()[current] : null;
    }

    @Override
    public void close() {
        replicas.forEach(ReplicaWriter::close);
    }
}
