// SPDX-License-Identifier: Apache-2.0
package org.apache.hadoop.hdfs.server.datanode;

import java.io.IOException;
import java.net.SocketTimeoutException;
import java.nio.channels.ClosedChannelException;
import org.apache.hadoop.hdfs.net.Peer;
import org.apache.hadoop.hdfs.net.PeerServer;
import org.apache.hadoop.io.IOUtils;
import org.apache.hadoop.util.Daemon;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.verbena.hadoop.net.CorePeer;

/**
 * Gives each connection of one more source to the DataNode's own server of data transfers, which knows it from then on as it
 * knows those of its port: restart messages, evictions, bandwidth limits, the limit of transfer threads and the end reach
 * both alike. Ends with the DataNode or with the source.
 */
final class StreamAcceptor implements Runnable {
    private static final Logger LOG = LoggerFactory.getLogger(StreamAcceptor.class);

    private final DataNode dataNode;
    private final PeerServer source;
    private final boolean ownReceiver;
    private final OwnReads reads;

    /**
     * Serves a source.
     *
     * @param ownReceiver whether blocks that are written by streams of the core are for {@link StreamReceiver}
     * @param reads answers small reads by streams of the core; null: Hadoop does
     */
    StreamAcceptor(DataNode dataNode, PeerServer source, boolean ownReceiver, OwnReads reads) {
        this.dataNode = dataNode;
        this.source = source;
        this.ownReceiver = ownReceiver;
        this.reads = reads;
    }

    @Override
    public void run() {
        while (dataNode.shouldRun && !dataNode.shutdownForUpgrade) {
            try {
                serve(source.accept());
            } catch (SocketTimeoutException e) {
                continue; // looks whether the DataNode still runs
            } catch (ClosedChannelException e) {
                return;
            } catch (IOException e) {
                LOG.warn("{}: a stream is not served: {}", dataNode.getDisplayName(), e.getMessage());
            }
        }
        IOUtils.closeStream(source); // which waits nowhere: who has not been served yet goes elsewhere
    }

    private void serve(Peer peer) {
        try {
            checkLimit();
            new Daemon(dataNode.threadGroup, xceiver(peer)).start();
        } catch (IOException | OutOfMemoryError e) { // the latter is how a JVM says that it gets no thread
            IOUtils.closeStream(peer);
            LOG.warn("{}: {} is not served: {}", dataNode.getDisplayName(), peer, e.getMessage());
        }
    }

    private Runnable xceiver(Peer peer) throws IOException {
        if (!(peer instanceof CorePeer stream)) {
            return DataXceiver.create(peer, dataNode, dataNode.xserver);
        }
        OwnReads.Stream answered = reads == null ? null : reads.attach(stream);
        Runnable xceiver = ownReceiver ? new StreamXceiver(dataNode, stream)
            : DataXceiver.create(stream, dataNode, dataNode.xserver);
        return answered == null ? xceiver : () -> {
            try {
                xceiver.run();
            } finally {
                answered.end();
            }
        };
    }

    /** As the DataNode's server does for its port. */
    private void checkLimit() throws IOException {
        int count = dataNode.getXceiverCount();
        int most = dataNode.xserver.maxXceiverCount;
        if (count > most) {
            throw new IOException("xceiver count " + count + " exceeds the limit of concurrent xceivers: " + most
                + "; raise dfs.datanode.max.transfer.threads");
        }
    }
}
