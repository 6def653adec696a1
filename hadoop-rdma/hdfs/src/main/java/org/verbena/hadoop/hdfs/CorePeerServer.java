// SPDX-License-Identifier: Apache-2.0
package org.verbena.hadoop.hdfs;

import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.SocketTimeoutException;
import java.nio.ByteBuffer;
import java.nio.channels.AsynchronousCloseException;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import org.apache.hadoop.hdfs.net.Peer;
import org.apache.hadoop.hdfs.net.PeerServer;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.verbena.core.VbnPeer;
import org.verbena.core.greeting.Greeter;
import org.verbena.core.stream.VbnStream;
import org.verbena.hadoop.net.CorePeer;
import org.verbena.hadoop.net.CoreSocketChannel;

/** The streams that clients open, for the DataNode's server of data transfers, as its socket server gives it sockets. */
final class CorePeerServer implements PeerServer {
    private static final Logger LOG = LoggerFactory.getLogger(CorePeerServer.class);
    /** As many as one client may open: a refusal ends a connection of a client that has begun to write. */
    private static final int WAITING = 4096;
    private static final long ACCEPT_MILLIS = 500;
    private static final int WINDOW = 1 << 20;

    private final DataPorts ports;
    private final InetSocketAddress local;
    private final DataPorts.Door door = this::accept;
    private final BlockingQueue<CoreSocketChannel> accepted = new LinkedBlockingQueue<>(WAITING);
    private final Greeter<InetAddress> greeter;
    private volatile boolean closed;

    /** local: the DataNode's data port. greeter: gives its greetings. */
    CorePeerServer(DataPorts ports, InetSocketAddress local, Greeter<InetAddress> greeter) {
        this.ports = ports;
        this.local = local;
        this.greeter = greeter;
        ports.open(local.getPort(), door);
    }

    /** Engine's thread. False when too many wait, or nobody knows from where: the client's next connections go by TCP. */
    private boolean accept(VbnStream stream, Hello hello) {
        InetAddress from = addressOf(stream.peer(), hello);
        return from != null && !closed && accepted.offer(
            new CoreSocketChannel(stream, local, new InetSocketAddress(from, hello.number()), () -> { }));
    }

    /** That of its TCP connection: Hadoop trusts addresses (TrustedChannelResolver), and a client could claim any. */
    private InetAddress addressOf(VbnPeer peer, Hello hello) {
        InetAddress from = ports.addressOf(peer);
        if (from != null) {
            return from;
        }
        from = greeter.claim(ByteBuffer.wrap(hello.token()));
        if (from == null) {
            LOG.debug("a stream of {} is refused: it shows no token of a greeting", peer);
            return null;
        }
        ports.know(peer, from);
        LOG.info("Verbena: {} sends and reads blocks by the core: {}", from.getHostAddress(), peer.explain());
        return from;
    }

    /** Waits half a second at a time, so that its caller sees when the DataNode ends. */
    @Override
    public Peer accept() throws IOException {
        try {
            CoreSocketChannel next = accepted.poll(ACCEPT_MILLIS, TimeUnit.MILLISECONDS);
            if (next == null && closed) {
                throw new AsynchronousCloseException();
            }
            if (next == null) {
                throw new SocketTimeoutException("no stream was opened");
            }
            next.configureBlocking(false);
            return new CorePeer(next);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new AsynchronousCloseException();
        }
    }

    @Override
    public String getListeningString() {
        return "the core's engine of " + local;
    }

    @Override
    public void setReceiveBufferSize(int bytes) {
        // the window of a stream is the core's
    }

    @Override
    public int getReceiveBufferSize() {
        return WINDOW;
    }

    @Override
    public void close() throws IOException {
        closed = true;
        ports.close(local.getPort(), door);
        for (CoreSocketChannel next = accepted.poll(); next != null; next = accepted.poll()) {
            next.close();
        }
    }
}
