// SPDX-License-Identifier: Apache-2.0
package org.apache.hadoop.hdfs.server.datanode;

import java.io.IOException;
import java.net.SocketTimeoutException;
import java.nio.channels.ClosedChannelException;
import java.util.concurrent.atomic.AtomicInteger;
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
 *
 * <p>The thread that has waited for a connection serves it, and no other connection: Hadoop interrupts and joins the thread that
 * writes a replica. It starts the next one when it has done, so that a connection mostly finds a thread that waits.
 */
final class StreamAcceptor implements Runnable {
    private static final Logger LOG = LoggerFactory.getLogger(StreamAcceptor.class);

    /** Threads that wait while none serves. */
    private static final int WAITING = 2;

    private final DataNode dataNode;
    private final PeerServer source;
    private final boolean ownReceiver;
    private final OwnReads reads;
    /** Threads that wait for a connection. */
    private final AtomicInteger waiting = new AtomicInteger();

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

    /** Starts the threads. */
    void start() {
        for (int i = 0; i < WAITING; i++) {
            add();
        }
    }

    private void add() {
        waiting.incrementAndGet();
        boolean started = false;
        try {
            new Daemon(dataNode.threadGroup, this).start();
            started = true;
        } finally {
            if (!started) {
                waiting.decrementAndGet();
            }
        }
    }

    @Override
    public void run() {
        Runnable xceiver = null;
        while (xceiver == null && dataNode.shouldRun && !dataNode.shutdownForUpgrade) {
            try {
                xceiver = served(source.accept());
            } catch (SocketTimeoutException e) {
                continue; // looks whether the DataNode still runs
            } catch (ClosedChannelException e) {
                return;
            } catch (IOException | OutOfMemoryError e) { // without this thread nobody might wait for the next one
                LOG.warn("{}: a stream is not served: {}", dataNode.getDisplayName(), e.getMessage());
            }
        }
        if (xceiver == null) {
            IOUtils.closeStream(source); // which waits nowhere: who has not been served yet goes elsewhere
            return;
        }
        try {
            xceiver.run();
        } finally {
            replace();
        }
    }

    private void replace() {
        Thread.interrupted(); // it was the connection's
        if (waiting.get() < WAITING && dataNode.shouldRun) {
            try {
                add();
            } catch (OutOfMemoryError e) { // no thread: another one waits
                LOG.debug("{}: one thread less waits for streams", dataNode.getDisplayName(), e);
            }
        }
    }

    /** What serves a connection, on this thread; null: nobody does. There is a thread that waits for the next one then. */
    private Runnable served(Peer peer) {
        try {
            checkLimit();
            Runnable xceiver = xceiver(peer);
            if (waiting.decrementAndGet() == 0) {
                takePlace();
            }
            return xceiver;
        } catch (IOException | RuntimeException | OutOfMemoryError e) { // the latter is how a JVM says that it gets no thread
            IOUtils.closeStream(peer);
            LOG.warn("{}: {} is not served: {}", dataNode.getDisplayName(), peer, e.getMessage());
            return null;
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

    /** Nobody else waits: another thread does, or this one still does. */
    private void takePlace() {
        try {
            add();
        } catch (OutOfMemoryError e) {
            waiting.incrementAndGet();
            throw e;
        }
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
