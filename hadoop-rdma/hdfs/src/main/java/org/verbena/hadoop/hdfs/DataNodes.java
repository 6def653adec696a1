// SPDX-License-Identifier: Apache-2.0
// The DataNodes that this process has to do with, and what is known of their engines.
package org.verbena.hadoop.hdfs;

import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.SocketTimeoutException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.verbena.core.VbnEngine;
import org.verbena.core.VbnException;
import org.verbena.core.VbnPeer;
import org.verbena.core.greeting.Greeting;
import org.verbena.core.plugin.Attempt;
import org.verbena.core.plugin.LocalAddress;
import org.verbena.core.plugin.PluginSetting;
import org.verbena.core.plugin.Remote;
import org.verbena.core.plugin.Remotes;
import org.verbena.core.stream.BlockingStream;
import org.verbena.core.stream.VbnStream;
import org.verbena.core.stream.VbnStreams;
import org.verbena.hadoop.net.CoreSocketChannel;

/**
 * The first connection to a DataNode asks its greeting port and connects the engines, and waits for that ({@link Attempt}); what
 * has waited in vain, and all while the connection is refused or paused, goes by TCP as without us. Thread safe.
 */
final class DataNodes {
    private static final Logger LOG = LoggerFactory.getLogger(DataNodes.class);
    private static final int GREETING_MILLIS = 5000;
    private static final int ACCEPT_MILLIS = 10_000;
    private static final int THREADS = 4;

    /** One DataNode. */
    static final class Link {
        final InetSocketAddress address;
        final Remote<VbnPeer> remote = new Remote<>(VbnPeer::close);
        /** Streams by this or an earlier connection that are open. */
        final AtomicInteger streams = new AtomicInteger();
        final PlainTcp plainTcp;
        volatile boolean announced;
        volatile boolean leftAnnounced;
        /** This host's address on the way to it, found anew with each connection of the engines: 85 us of a DataNode's time. */
        volatile InetAddress local;
        /** Of the greeting that this connection of the engines began with. */
        volatile byte[] token;
        /** A first stream that the DataNode has not accepted yet, though it was waited for; and since when. */
        volatile VbnStream late;
        volatile long lateSince;
        /** Why it is not reached by the core. */
        volatile String obstacle = "not yet connected";

        Link(InetSocketAddress address, PlainTcp plainTcp) {
            this.address = address;
            this.plainTcp = plainTcp;
        }
    }

    /** The streams by which DataNodes are reached. */
    @FunctionalInterface
    interface Calling {
        /** local: the address that the core listens on, if this starts it and none is set. */
        VbnStreams streams(InetAddress local) throws IOException;
    }

    private final CoreNode node;
    private final Calling calling;
    private final Remotes<InetSocketAddress, Link> links = new Remotes<>(Remotes.MOST, link -> link.remote);
    private final AtomicInteger nextNumber = new AtomicInteger();
    private final ExecutorService connecting;

    DataNodes(CoreNode node, Calling calling) {
        this.node = node;
        this.calling = calling;
        ThreadPoolExecutor pool = new ThreadPoolExecutor(THREADS, THREADS, 10, TimeUnit.SECONDS,
            new LinkedBlockingQueue<>(), task -> {
                Thread thread = new Thread(task, "verbena-connect");
                thread.setDaemon(true);
                return thread;
            });
        pool.allowCoreThreadTimeOut(true);
        connecting = pool;
    }

    /**
     * Opens a stream to a DataNode.
     *
     * @param address its data port
     * @return a connected channel; null: use TCP
     */
    CoreSocketChannel open(InetSocketAddress address) {
        if (!mayGreet(address)) {
            return null;
        }
        Link link = links.of(address, this::link);
        VbnPeer peer = link == null ? null : peer(link);
        if (peer == null) {
            node.tally().countTcp(link == null ? Tally.Reason.TOO_MANY : switch (link.remote.state()) {
                case REFUSED -> Tally.Reason.NOT_ANSWERED;
                case DOWN -> Tally.Reason.AFTER_FAILURES;
                case UNCONNECTED, CONNECTING, UP ->
                    link.remote.isSilent() ? Tally.Reason.NOT_ANSWERED : Tally.Reason.WHILE_CONNECTING;
            });
            return null;
        }
        if (link.plainTcp.isHadoops(peer)) {
            leave(link);
            return null;
        }
        return open(link, peer);
    }

    /** The same DataNodes as this engine of ours reaches them. */
    DataNodes by(VbnEngine engine) {
        return node.dataNodes(engine);
    }

    Link link(InetSocketAddress address) {
        return new Link(address, new PlainTcp(node::leavesTcp));
    }

    private boolean mayGreet(InetSocketAddress address) {
        return !address.isUnresolved() && address.getPort() + node.conf().portOffset() <= 0xffff;
    }

    /** The DataNodes that are known. */
    Remotes<InetSocketAddress, Link> links() {
        return links;
    }

    /** The peer, waited for if it is being connected; null when there is none. */
    private VbnPeer peer(Link link) {
        if (link.remote.peer() == null) {
            begin(link);
        }
        return link.remote.await();
    }

    private void begin(Link link) {
        Attempt attempt = link.remote.begin(node.conf().connectWaitMillis());
        if (attempt == null) {
            return;
        }
        attempt.asks();
        connecting.execute(() -> {
            try {
                connect(link, attempt);
            } finally {
                attempt.end();
            }
        });
    }

    private void connect(Link link, Attempt attempt) {
        Greeting greeting;
        try {
            greeting = GreetingClient.ask(
                new InetSocketAddress(link.address.getAddress(), link.address.getPort() + node.conf().portOffset()),
                GREETING_MILLIS, attempt::asks);
        } catch (IOException e) {
            refused(link, "no greeting at port " + (link.address.getPort() + node.conf().portOffset()) + ": " + e.getMessage());
            return;
        }
        attempt.answered();
        try {
            link.local = LocalAddress.towards(link.address);
            link.token = greeting.token();
            VbnPeer peer = calling.streams(link.local).engine().connect(greeting.engine(),
                (gone, cause) -> lost(link, gone, cause, link.streams.get() > 0));
            link.remote.up(peer);
            if (peer.isLost()) {
                lost(link, peer, peer.lossCause(), false);
            }
        } catch (IOException | LinkageError e) {
            down(link, node.key().words(e));
        } catch (OutOfMemoryError e) {
            down(link, noMemory(e));
        }
    }

    private static String noMemory(OutOfMemoryError e) {
        return "this JVM has no memory left for it (" + e.getMessage() + "): raise -XX:MaxDirectMemorySize";
    }

    /**
     * How a DataNode is reached, found by opening a stream to it.
     *
     * @param address its data port
     * @return the transport and why; null when it is reached by TCP: {@link #obstacle} knows the cause
     */
    String transport(InetSocketAddress address) throws IOException {
        try (CoreSocketChannel stream = open(address)) {
            Link link = stream == null ? null : links.of(address, this::link);
            VbnPeer peer = link == null ? null : link.remote.peer();
            return peer == null ? null : peer.explain();
        }
    }

    /** Why a DataNode that was tried is reached by TCP. */
    String obstacle(InetSocketAddress address) {
        Link link = mayGreet(address) ? links.of(address, this::link) : null;
        return link != null ? link.obstacle : mayGreet(address) ? "this process is connected with " + links.size() + " DataNodes"
            : "its port + " + node.conf().portOffset() + " is no port";
    }

    private static void refused(Link link, String cause) {
        link.obstacle = cause;
        if (link.remote.refused()) {
            LOG.info("Verbena: {} is reached by TCP: {} (a DataNode there needs hadoop-rdma and its key)", link.address, cause);
        }
    }

    private static void down(Link link, String cause) {
        tell(link, cause, link.remote.down());
    }

    /** The connection was lost; told twice it does nothing the second time. */
    private void lost(Link link, VbnPeer peer, VbnException cause, boolean used) {
        Remote.End end = link.remote.ended(peer, cause, used);
        if (end == Remote.End.UNUSED) {
            link.announced = false;
            LOG.debug("Verbena: DataNode {} has ended the connection, which nobody used: {}", link.address, cause.text());
        } else if (end != Remote.End.NOT_THIS) {
            tell(link, node.key().words(cause), end == Remote.End.FAILED);
        }
    }

    private static void tell(Link link, String cause, boolean first) {
        link.announced = false;
        link.obstacle = cause;
        if (first) {
            LOG.warn("Verbena: DataNode {} is reached by TCP for now: {}", link.address, cause);
        }
    }

    /** A DataNode that has accepted a stream is believed to accept more: they are not waited for, as a TCP connection is not. */
    private CoreSocketChannel open(Link link, VbnPeer peer) {
        try {
            if (waits(link)) {
                return null;
            }
            VbnStreams streams = calling.streams(link.address.getAddress());
            int number = 1 + (nextNumber.incrementAndGet() & 0x7fff);
            InetSocketAddress local = new InetSocketAddress(link.local, number == link.address.getPort() ? 0xffff : number);
            VbnStream stream = streams.openAtOnce(peer, Hello.SERVICE,
                new Hello(link.token, local.getPort(), link.address.getPort()).encode());
            boolean waited = stream.failure() != null || !stream.isWritable();
            if (waited && !accepted(link, stream)) {
                return null;
            }
            node.tally().countCore();
            announce(link, peer);
            link.streams.incrementAndGet();
            return new CoreSocketChannel(stream, local, link.address, () -> closed(link, stream));
        } catch (IOException e) {
            return failed(link, node.key().words(e));
        } catch (OutOfMemoryError e) {
            return failed(link, noMemory(e));
        }
    }

    private CoreSocketChannel failed(Link link, String cause) {
        down(link, cause);
        node.tally().countTcp(Tally.Reason.AFTER_FAILURES);
        return null;
    }

    private boolean accepted(Link link, VbnStream stream) {
        try {
            new BlockingStream(stream).awaitAccepted(Math.max(1, Math.min(link.remote.attempt().leftMillis(), ACCEPT_MILLIS)));
            return true;
        } catch (VbnException e) {
            stream.reset();
            if (stream.isRefused()) {
                refused(link, stream.failure().text());
            } else {
                lost(link, stream.peer(), stream.peer().lossCause(), true);
            }
            node.tally().countTcp(Tally.Reason.AFTER_FAILURES);
        } catch (SocketTimeoutException e) {
            link.lateSince = System.nanoTime();
            link.late = stream;
            node.tally().countTcp(Tally.Reason.WHILE_CONNECTING);
        } catch (IOException e) { // interrupted: the caller will see it
            stream.reset();
            node.tally().countTcp(Tally.Reason.WHILE_CONNECTING);
        }
        return false;
    }

    /** True while the DataNode owes an answer to a first stream: what is opened meanwhile goes by TCP. */
    private boolean waits(Link link) {
        VbnStream late = link.late;
        if (late == null) {
            return false;
        }
        if (late.isAccepted() || late.failure() != null) {
            link.late = null;
            late.reset();
            return false;
        }
        if (System.nanoTime() - link.lateSince > TimeUnit.MILLISECONDS.toNanos(ACCEPT_MILLIS)) {
            link.late = null;
            late.reset();
            down(link, "it accepts no stream: none within " + ACCEPT_MILLIS + " ms");
        }
        node.tally().countTcp(Tally.Reason.WHILE_CONNECTING);
        return true;
    }

    /** A stream that was written before it was accepted may have been refused. */
    private static void closed(Link link, VbnStream stream) {
        link.streams.decrementAndGet();
        if (stream.isRefused()) {
            refused(link, stream.failure().text());
        }
    }

    private static void announce(Link link, VbnPeer peer) {
        if (!link.announced) {
            link.announced = true;
            LOG.info("Verbena: DataNode {} is reached by the core: {}", link.address, peer.explain());
        }
    }

    private void leave(Link link) {
        node.tally().countTcp(Tally.Reason.PLAIN_TCP);
        if (!link.leftAnnounced) {
            link.leftAnnounced = true;
            link.obstacle = "the core has nothing but TCP to it, and leaves that to Hadoop (" + PluginSetting.HDFS_OVER_TCP
                + "=hadoop)";
            LOG.info("Verbena: DataNode {} is reached by TCP: {}", link.address, link.obstacle);
        }
    }
}
