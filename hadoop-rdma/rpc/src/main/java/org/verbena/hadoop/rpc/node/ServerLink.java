// SPDX-License-Identifier: Apache-2.0
// One server that this process calls, and whether it is reached by the core.
package org.verbena.hadoop.rpc.node;

import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.ByteBuffer;
import java.util.Set;
import java.util.concurrent.Callable;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.LockSupport;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.verbena.core.VbnException;
import org.verbena.core.VbnPeer;
import org.verbena.core.greeting.Greeting;
import org.verbena.core.greeting.GreetingReader;
import org.verbena.core.plugin.LocalAddress;
import org.verbena.core.plugin.Remote;
import org.verbena.core.stream.VbnStream;
import org.verbena.core.stream.VbnStreams;

/**
 * After the first calls one more call by TCP asks for the server's greeting, in the background; meanwhile calls go on by TCP.
 * Thread safe.
 */
public final class ServerLink {
    private static final Logger LOG = LoggerFactory.getLogger(ServerLink.class);

    /** A server's own answer that it has no greeting. */
    public static final class NotOffered extends IOException {
        private static final long serialVersionUID = 1;

        /** cause: in the server's words. */
        public NotOffered(String cause) {
            super(cause);
        }
    }

    private final CoreNode node;
    private final InetSocketAddress address;
    private final Remote<VbnPeer> remote = new Remote<>(this::giveUp);
    private final AtomicInteger calls = new AtomicInteger();
    private final Set<CallStream> streams = ConcurrentHashMap.newKeySet();
    private volatile InetAddress local;
    private volatile byte[] token;
    private volatile boolean announced;
    private volatile String obstacle = "it was not asked yet";

    ServerLink(CoreNode node, InetSocketAddress address) {
        this.node = node;
        this.address = address;
    }

    Remote<VbnPeer> remote() {
        return remote;
    }

    /** Returns the connection when it stands, else null. */
    public VbnPeer peer() {
        return remote.peer();
    }

    /** Returns where it listens. */
    public InetSocketAddress address() {
        return address;
    }

    /**
     * Returns the transport and why it was chosen; null: the server is reached by TCP.
     *
     * @param millis longest wait while the connection is being made
     */
    public String transport(long millis) {
        long end = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(millis);
        while (remote.state() == Remote.State.CONNECTING && System.nanoTime() - end < 0) {
            LockSupport.parkNanos(this, TimeUnit.MILLISECONDS.toNanos(10));
        }
        VbnPeer peer = remote.peer();
        return peer == null ? null : peer.explain();
    }

    /** Returns why a call goes by TCP, while {@link #peer} gives null. */
    public Reason reason() {
        return calls.get() < node.conf().firstCalls() ? Reason.FIRST_CALLS : switch (remote.state()) {
            case REFUSED -> Reason.NOT_OFFERED;
            case DOWN -> Reason.AFTER_FAILURES;
            case UNCONNECTED, CONNECTING, UP -> Reason.WHILE_CONNECTING;
        };
    }

    /** Returns why the server is not reached by the core, in words. */
    public String obstacle() {
        return obstacle;
    }

    /** Whether a call by TCP was answered. */
    public boolean hasAnswered() {
        return calls.get() > 0;
    }

    /** Counts an answer by TCP; true for the one whose caller has to {@link #connect}. */
    public boolean mayConnect() {
        return calls.incrementAndGet() >= node.conf().firstCalls() && remote.mayConnect();
    }

    /**
     * Connects; blocks. Afterwards it is known how the server is reached.
     *
     * @param ask calls the server by TCP: gives its greeting, or throws {@link NotOffered}, or what else a call may throw
     */
    public void connect(Callable<ByteBuffer> ask) {
        Greeting greeting = ask(ask);
        if (greeting == null) {
            return;
        }
        try {
            local = LocalAddress.towards(address);
            token = greeting.token();
            VbnPeer peer = node.calling(local).engine().connect(greeting.engine(), this::lost);
            remote.up(peer);
            if (peer.isLost()) {
                lost(peer, peer.lossCause());
            }
        } catch (IOException | LinkageError e) {
            down(node.conf().key().words(e));
        } catch (OutOfMemoryError e) {
            down("this JVM has no memory left for it (" + e.getMessage() + "): raise -XX:MaxDirectMemorySize");
        }
    }

    /** Null: it has none, or the call has failed, which says nothing of the server: the next call asks again. */
    private Greeting ask(Callable<ByteBuffer> ask) {
        ByteBuffer answer;
        try {
            answer = ask.call();
        } catch (NotOffered e) {
            refused(e.getMessage());
            return null;
        } catch (Exception e) { // whatever a call may throw
            obstacle = e.toString();
            LOG.debug("Verbena: RPC server {} was not asked whether it offers the core: {}", address, obstacle);
            remote.release(null);
            return null;
        }
        try {
            Greeting greeting = new GreetingReader(RpcHello.MESSAGES).take(answer);
            if (greeting != null) {
                return greeting;
            }
            refused("its greeting is too short");
        } catch (IOException e) {
            refused(e.getMessage());
        }
        return null;
    }

    /**
     * Opens a stream to the server.
     *
     * @param peer the connection
     * @throws IOException when it cannot be opened; a call has not been sent
     */
    public CallStream open(VbnPeer peer) throws IOException {
        VbnStreams calling = node.calling(local);
        int number = node.nextNumber();
        VbnStream stream = calling.openAtOnce(peer, RpcHello.SERVICE, new RpcHello(token, number, address.getPort()).encode());
        CallStream opened = new CallStream(stream, new InetSocketAddress(local, number), address);
        streams.add(opened);
        if (remote.peer() != peer) {
            opened.abandon(); // the connection was given up meanwhile
        }
        return opened;
    }

    /** A stream has ended, for whatever reason. */
    public void closed(CallStream stream) {
        streams.remove(stream);
    }

    /** Ends a connection. Calls that wait for its answers hear of that at once. */
    private void giveUp(VbnPeer peer) {
        if (peer != null) {
            peer.close();
            streams.stream().filter(stream -> stream.isOf(peer)).forEach(CallStream::abandon);
        }
    }

    /** The server has answered by a stream. */
    public void answered(VbnPeer peer) {
        if (!announced) {
            announced = true;
            LOG.info("Verbena: RPC server {} is reached by the core: {}", address, peer.explain());
        }
    }

    private void refused(String cause) {
        obstacle = cause;
        if (remote.refused()) {
            LOG.info("Verbena: RPC server {} is reached by TCP, it does not offer the core: {}", address, cause);
        }
    }

    /** The connection was lost; told twice it does nothing the second time. */
    private void lost(VbnPeer peer, VbnException cause) {
        Remote.End end = remote.ended(peer, cause, !streams.isEmpty());
        if (end == Remote.End.UNUSED) {
            announced = false;
            LOG.debug("Verbena: RPC server {} has ended the connection, which nobody used: {}", address, cause.text());
        } else if (end != Remote.End.NOT_THIS) {
            tell(node.conf().key().words(cause), end == Remote.End.FAILED);
        }
    }

    /**
     * The server is not reached by the core for a while.
     *
     * @param cause in words
     */
    public void down(String cause) {
        tell(cause, remote.down());
    }

    private void tell(String cause, boolean first) {
        announced = false;
        obstacle = cause;
        if (first) {
            LOG.warn("Verbena: RPC server {} is reached by TCP for now: {}", address, cause);
        }
    }
}
