// SPDX-License-Identifier: Apache-2.0
// Hadoop's RPC client, whose calls go by streams of the core where a server offers it, and else by its own connections.
package org.apache.hadoop.ipc;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.security.PrivilegedExceptionAction;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import javax.net.SocketFactory;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.io.Writable;
import org.apache.hadoop.security.UserGroupInformation;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.verbena.core.VbnPeer;
import org.verbena.hadoop.rpc.node.CoreNode;
import org.verbena.hadoop.rpc.node.Reason;
import org.verbena.hadoop.rpc.node.ServerLink;

/**
 * Both ways have one client id and one counter of calls, so that a server's retry cache knows a call again that is repeated by the
 * other way. A call is never moved once a server has taken its stream: one that fails by the core fails as by TCP, and who repeats
 * calls, repeats it.
 */
final class CoreClient extends Client {
    private static final Logger LOG = LoggerFactory.getLogger(CoreClient.class);
    private static final long GREETING_MILLIS = 1000;

    private final CoreNode node;
    private final Configuration conf;
    private final byte[] id;
    private final Map<ConnectionId, CoreConnection> connections = new ConcurrentHashMap<>();
    private volatile boolean stopped;

    CoreClient(Configuration conf, SocketFactory factory, CoreNode node) {
        super(RpcWritable.Buffer.class, conf, factory);
        this.node = node;
        this.conf = conf;
        this.id = Internals.clientId(this);
    }

    CoreNode node() {
        return node;
    }

    Configuration conf() {
        return conf;
    }

    byte[] id() {
        return id;
    }

    @Override
    public Writable call(RPC.RpcKind kind, Writable request, ConnectionId to, AtomicBoolean fallback, AlignmentContext alignment)
            throws IOException {
        ServerLink link = to.getAddress().isUnresolved() ? null : node.server(to.getAddress());
        Reason reason = reason(link);
        CoreConnection connection = reason == null ? open(to, link, link.peer()) : null;
        if (connection != null) {
            CoreConnection.Waiting call = connection.add(createCall(kind, request), alignment);
            if (call.isAdded()) {
                try {
                    return run(connection, call);
                } catch (CoreConnection.RefusedException e) {
                    LOG.debug("a call goes by TCP", e);
                }
            }
            reason = Reason.AFTER_FAILURES;
            setCallIdAndRetryCountUnprotected(call.call().id, call.call().retry, getExternalHandler()); // it was taken already
        }
        node.calls().countTcp(reason == null ? Reason.NOT_SET_UP : reason);
        Writable answer = super.call(kind, request, to, fallback, alignment);
        if (link != null && link.peer() == null && !isAsynchronousMode() && link.mayConnect()) {
            connect(to, link, fallback); // now that Hadoop's connection stands: nobody waits for two calls
        }
        return answer;
    }

    private Writable run(CoreConnection connection, CoreConnection.Waiting call) throws IOException {
        boolean refused = false;
        try {
            return connection.run(call);
        } catch (CoreConnection.RefusedException e) {
            refused = true;
            throw e;
        } finally {
            if (!refused) {
                node.calls().countCore();
            }
        }
    }

    /** Why a call goes by TCP; null: the server is reached by the core. */
    private static Reason reason(ServerLink link) {
        if (isAsynchronousMode()) {
            return Reason.ASYNCHRONOUS;
        }
        return link == null ? Reason.TOO_MANY : link.peer() == null ? link.reason() : null;
    }

    /**
     * Asks for the greeting with the caller's user, and connects in the background. The caller waits for the greeting, for a
     * moment, because this client may be stopped after its call.
     */
    private void connect(ConnectionId to, ServerLink link, AtomicBoolean fallback) {
        CountDownLatch asked = new CountDownLatch(1);
        node.connect(() -> link.connect(() -> {
            try {
                UserGroupInformation user = to.getTicket();
                return user == null ? greeting(to, fallback)
                    : user.doAs((PrivilegedExceptionAction<ByteBuffer>) () -> greeting(to, fallback));
            } finally {
                asked.countDown();
            }
        }));
        try {
            asked.await(GREETING_MILLIS, TimeUnit.MILLISECONDS);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt(); // its call will see it
        }
    }

    private ByteBuffer greeting(ConnectionId to, AtomicBoolean fallback) throws IOException {
        try {
            return GreetingService.answer((RpcWritable.Buffer) super.call(RPC.RpcKind.RPC_PROTOCOL_BUFFER,
                GreetingService.request(), to, fallback, null));
        } catch (RemoteException e) {
            String text = e.getMessage() == null ? "" : e.getMessage();
            throw new ServerLink.NotOffered(text.lines().findFirst().orElse(e.getClassName()));
        }
    }

    private CoreConnection open(ConnectionId to, ServerLink link, VbnPeer peer) {
        while (!stopped && peer != null) {
            CoreConnection connection = connections.computeIfAbsent(to, at -> new CoreConnection(this, at, link));
            switch (connection.setUp(peer)) {
                case OPEN -> {
                    return connection;
                }
                case FAILED -> {
                    return null;
                }
                case CLOSED -> forget(to, connection);
            }
        }
        return null;
    }

    void forget(ConnectionId to, CoreConnection connection) {
        connections.remove(to, connection);
    }

    @Override
    public void stop() {
        stopped = true;
        connections.values().forEach(connection -> connection.close(new IOException("the client has been stopped")));
        super.stop();
    }

    @Override
    public void close() {
        stop();
    }
}
