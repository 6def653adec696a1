// SPDX-License-Identifier: Apache-2.0
// The streams of one RPC server: its engine and thread, and their connections.
package org.apache.hadoop.ipc;

import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.ByteBuffer;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.apache.hadoop.util.Time;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.verbena.core.VbnEngine;
import org.verbena.core.VbnException;
import org.verbena.core.VbnPeer;
import org.verbena.core.greeting.Greeter;
import org.verbena.core.stream.VbnStream;
import org.verbena.core.stream.VbnStreams;
import org.verbena.hadoop.rpc.node.CallChannel;
import org.verbena.hadoop.rpc.node.CoreNode;
import org.verbena.hadoop.rpc.node.RpcHello;

/**
 * Each stream is a connection of Hadoop's server, which gets the bytes and does everything with them. What is wrong with a stream
 * ends that stream. Nothing here ends the server.
 */
final class ServedStreams {
    private static final Logger LOG = LoggerFactory.getLogger(ServedStreams.class);
    private static final long TURN_NANOS = TimeUnit.SECONDS.toNanos(1);
    private static final long MANY_BYTES = 64L << 20;
    private static final long MANY_NANOS = TimeUnit.SECONDS.toNanos(10);

    private final CoreRpcServer server;
    private final CoreNode node;
    private final HandlerTurns turns;
    private final Set<CallChannel> channels = ConcurrentHashMap.newKeySet();
    private final Map<VbnPeer, InetAddress> known = new ConcurrentHashMap<>();
    private final CountDownLatch decided = new CountDownLatch(1);
    private final Thread thread = new Thread(this::run, "verbena-rpc-serve");
    private volatile Greeter<InetAddress> greeter;
    private volatile boolean closing;
    private volatile VbnStreams streams;
    /** Asked for by the thread that has the server's lock. */
    private volatile InetSocketAddress local;
    private long nextPurge;

    /** The server's queue becomes ours. */
    ServedStreams(CoreRpcServer server, CoreNode node) {
        this.server = server;
        this.node = node;
        this.turns = new HandlerTurns(server.getCallQueue(), this::serve);
        server.setCallQueue(turns);
        thread.setDaemon(true);
    }

    /** Serves until {@link #close}; returns when it is known whether the core has started. */
    void open() {
        local = server.getListenerAddress();
        thread.start();
        boolean interrupted = false;
        while (decided.getCount() > 0) {
            try {
                decided.await();
            } catch (InterruptedException e) {
                interrupted = true;
            }
        }
        if (interrupted) {
            Thread.currentThread().interrupt();
        }
    }

    private void run() {
        VbnEngine engine = null;
        try {
            turns.own();
            engine = start();
            decided.countDown();
            while (!closing && engine.turn(TURN_NANOS)) {
                turns.relieve();
                purge();
            }
        } catch (IOException | RuntimeException | LinkageError | OutOfMemoryError e) {
            if (!closing) {
                LOG.warn("Verbena stands aside, calls to port {} come by TCP: {}", server.getPort(), node.conf().key().words(e));
            }
        } finally {
            greeter = null;
            turns.drive(null);
            decided.countDown();
            if (engine != null) {
                end(engine);
            }
        }
    }

    private VbnEngine start() throws IOException {
        streams = node.serving(local.getAddress().isAnyLocalAddress() ? InetAddress.getLocalHost() : local.getAddress());
        VbnEngine engine = streams.engine();
        byte[] address = engine.address();
        Greeter<InetAddress> made = new Greeter<>(RpcHello.MESSAGES, RpcHello.SERVICE, () -> address);
        server.addProtocol(RPC.RpcKind.RPC_PROTOCOL_BUFFER, GreetingService.Protocol.class, new GreetingService(made));
        streams.serve(RpcHello.SERVICE, this::accept);
        greeter = made;
        turns.drive(engine);
        LOG.info("Verbena serves calls to {} by {}", local, node.carriers(engine));
        return engine;
    }

    private void end(VbnEngine engine) {
        channels.forEach(channel -> Internals.close(server, (Server.Connection) channel.user()));
        streams.close();
        node.ended(streams);
        engine.close();
    }

    /** Ends the streams with their calls, as the listener's end does for sockets. */
    void close() {
        closing = true;
        thread.interrupt(); // it may wait for space in the queue
        VbnStreams open = streams;
        if (open != null) {
            open.engine().wake();
        }
    }

    // ------------------------------------------------------------------------------------------- engine's thread

    private boolean accept(VbnStream stream, ByteBuffer bytes) {
        try {
            RpcHello hello = RpcHello.decode(bytes);
            InetAddress from = addressOf(stream.peer(), hello);
            boolean auxiliary = isAuxiliary(hello.port());
            if (from == null || closing) {
                return false;
            }
            CallChannel channel = new CallChannel(stream, local, new InetSocketAddress(from, hello.number()));
            channel.configureBlocking(false);
            Server.Connection connection =
                Internals.register(server, channel, auxiliary ? hello.port() : server.getPort(), auxiliary);
            if (connection == null) {
                return false; // as many as it may have: by TCP the client hears of that as always
            }
            channels.add(channel);
            channel.open(connection, turns::ready);
            return true;
        } catch (IOException e) {
            LOG.debug("a stream is refused: {}", e.getMessage());
            return false;
        }
    }

    /** A client may have called one of the ports with another quality of protection. */
    private boolean isAuxiliary(int port) {
        return port != server.getPort()
            && server.getAuxiliaryListenerAddresses().stream().anyMatch(address -> address.getPort() == port);
    }

    /** That of the call that asked for the greeting. */
    private InetAddress addressOf(VbnPeer peer, RpcHello hello) {
        InetAddress from = known.get(peer);
        Greeter<InetAddress> greets = greeter;
        if (from != null || greets == null) {
            return from;
        }
        from = greets.claim(ByteBuffer.wrap(hello.token()));
        if (from == null) {
            LOG.debug("a stream of {} is refused: it shows no token of a greeting", peer);
            return null;
        }
        known.put(peer, from);
        peer.onLost((lost, cause) -> known.remove(lost));
        LOG.info("Verbena: {} calls port {} by the core: {}", from.getHostAddress(), server.getPort(), peer.explain());
        return from;
    }

    // ------------------------------------------------------------------------- handlers, and the server's own thread

    /** Reads one request; as Hadoop's readers do it. */
    private void serve(CallChannel channel) {
        Server.Connection connection = (Server.Connection) channel.user();
        connection.setLastContact(Time.now());
        int count = 0;
        try {
            channel.sendKept();
            if (channel.takesRequests()) {
                count = connection.readAndProcess();
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            count = -1;
        } catch (IOException | RuntimeException e) {
            LOG.info("{}: reading from {} by the core: {}", Thread.currentThread().getName(), connection, e.toString());
            count = -1;
        }
        if (count < 0 || connection.shouldClose()) {
            Internals.close(server, connection);
            channels.remove(channel);
        } else {
            connection.setLastContact(Time.now());
            channel.served();
        }
    }

    /** Whether a client reads its answers no more: for as long as Hadoop keeps them, or sooner if they are many bytes. */
    static boolean isGone(long kept, long nanos, long limit) {
        return kept > 0 && nanos > limit || kept > MANY_BYTES && nanos > MANY_NANOS;
    }

    /** Ends clients that read no answers, forgets channels that Hadoop has closed. */
    private void purge() {
        long now = System.nanoTime();
        if (now - nextPurge < 0) {
            return;
        }
        nextPurge = now + TURN_NANOS;
        long limit = server.getPurgeIntervalNanos();
        for (CallChannel channel : channels) {
            if (channel.isOpen() && isGone(channel.kept(), now - channel.keptSince(), limit)) {
                LOG.info("Verbena: {} reads no answers: {} bytes wait; its connection is closed", channel.user(), channel.kept());
                Internals.close(server, (Server.Connection) channel.user());
            }
            if (!channel.isOpen()) {
                channels.remove(channel);
            }
        }
    }
}
