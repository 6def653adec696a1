// SPDX-License-Identifier: Apache-2.0
package org.apache.hadoop.hdfs.server.datanode;

import java.io.EOFException;
import java.io.IOException;
import java.io.InterruptedIOException;
import java.nio.channels.ClosedChannelException;
import org.apache.hadoop.hdfs.protocol.datatransfer.DataTransferProtocol;
import org.apache.hadoop.hdfs.protocol.datatransfer.Op;
import org.apache.hadoop.hdfs.server.datanode.metrics.DataNodePeerMetrics;
import org.apache.hadoop.io.IOUtils;
import org.apache.hadoop.security.token.SecretManager.InvalidToken;
import org.slf4j.Logger;
import org.verbena.hadoop.net.CorePeer;

/**
 * Serves one stream. A stream that begins with a request to write a block, which is then its only one, has {@link WriteOperation};
 * every other has Hadoop's DataXceiver, which finds the request unread.
 */
final class StreamXceiver implements Runnable {
    private static final Logger LOG = DataNode.LOG;
    /** Version and operation. */
    private static final int HEAD = 3;

    private final DataNode dataNode;
    private final CorePeer peer;
    /** Known to the server of data transfers in either case. */
    private final DataXceiver xceiver;

    StreamXceiver(DataNode dataNode, CorePeer peer) throws IOException {
        this.dataNode = dataNode;
        this.peer = peer;
        this.xceiver = DataXceiver.create(peer, dataNode, dataNode.xserver);
    }

    @Override
    public void run() {
        try {
            dataNode.xserver.addPeer(peer, Thread.currentThread(), xceiver);
        } catch (IOException e) {
            LOG.debug("{} is not served: {}", peer, e.toString());
            IOUtils.closeStream(peer);
            return;
        }
        boolean handedOver = false;
        try {
            if (beginsWithWrite()) {
                write();
            } else {
                handedOver = true;
                dataNode.metrics.decrDataNodeActiveXceiversCount(); // the next line counts it again
                xceiver.run();
            }
        } catch (EOFException | ClosedChannelException | InterruptedIOException e) {
            LOG.debug("{} ends without a request: {}", peer, e.toString());
        } catch (IOException e) {
            LOG.info("{}: {} is not served: {}", dataNode.getDisplayName(), peer, e.toString());
        } finally {
            if (!handedOver) {
                dataNode.xserver.closePeer(peer);
            }
        }
    }

    private boolean beginsWithWrite() throws IOException {
        Thread.currentThread().setName("DataXceiver for client " + peer.getRemoteAddressString() + " [Waiting for operation #1]");
        peer.setReadTimeout(dataNode.getDnConf().socketTimeout);
        peer.setWriteTimeout(dataNode.getDnConf().socketWriteTimeout);
        byte[] head = peer.peeked().peek(HEAD);
        if (head.length < HEAD) {
            throw new EOFException("the stream has ended");
        }
        return (head[0] << 8 | head[1] & 0xff) == DataTransferProtocol.DATA_TRANSFER_VERSION && head[2] == Op.WRITE_BLOCK.code;
    }

    private void write() {
        dataNode.metrics.incrDataNodeWriteActiveXceiversCount();
        try {
            new WriteOperation(dataNode, peer, xceiver).run();
        } catch (IOException | RuntimeException | Error e) {
            report(e);
        } finally {
            DataNodePeerMetrics metrics = dataNode.getPeerMetrics();
            if (dataNode.getDnConf().peerStatsEnabled && metrics != null) {
                metrics.collectThreadLocalStates();
            }
            dataNode.metrics.decrDataNodeWriteActiveXceiversCount();
        }
    }

    /** As loud as DataXceiver: a replica that exists already is nothing unusual, and a bad token has had its line. */
    private void report(Throwable e) {
        String text = dataNode.getDisplayName() + ":DataXceiver error processing WRITE_BLOCK operation  src: "
            + peer.getRemoteAddressString() + " dst: " + peer.getLocalAddressString();
        if (e instanceof ReplicaAlreadyExistsException) {
            LOG.info("{}; {}", text, e.toString());
        } else if (e instanceof InvalidToken || e.getCause() instanceof InvalidToken) {
            LOG.trace(text, e);
        } else {
            LOG.error(text, e);
        }
    }
}
