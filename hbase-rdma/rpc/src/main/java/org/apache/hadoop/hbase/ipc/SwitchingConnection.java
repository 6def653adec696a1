// SPDX-License-Identifier: Apache-2.0
package org.apache.hadoop.hbase.ipc;

import java.io.IOException;
import java.util.function.Supplier;
import org.apache.hadoop.hbase.exceptions.ConnectionClosedException;
import org.verbena.core.plugin.PathCounts;
import org.verbena.hbase.netty.VbnEventLoop;
import org.verbena.hbase.node.Reason;
import org.verbena.hbase.node.ServerLink;

/**
 * Two connections to one server, HBase's own over TCP and HBase's own over the core's channels; each call takes the second when
 * the server is reached by the core. This object itself is never connected: an idle connection of the two ends alone. Thread
 * safe.
 */
final class SwitchingConnection extends NettyRpcConnection {
    private final VbnRpcClient client;
    private final NettyRpcConnection tcp;
    private final Supplier<ServerLink> links;
    private final PathCounts<Reason> calls;
    private volatile NettyRpcConnection core;
    /** That of the connection by the core. */
    private VbnEventLoop loop;
    private boolean removed;

    /**
     * Makes one that is not connected.
     *
     * @param client makes the connections
     * @param links tells for a call whether the server is reached by the core; null for more servers than are remembered
     * @param calls counts them
     */
    SwitchingConnection(VbnRpcClient client, ConnectionId id, Supplier<ServerLink> links, PathCounts<Reason> calls)
            throws IOException {
        super(client, id);
        super.cleanupConnection(); // its own header is not sent
        this.client = client;
        this.tcp = client.newConnection(client, id);
        this.links = links;
        this.calls = calls;
    }

    @Override
    public void sendRequest(Call call, HBaseRpcController controller) {
        if (call.isConnectionRegistryCall()) {
            calls.countTcp(Reason.REGISTRY);
            tcp.sendRequest(call, controller);
            return;
        }
        ServerLink link = links.get();
        Reason reason = link == null ? Reason.TOO_MANY : link.use();
        if (reason == Reason.WHILE_CONNECTING) {
            link.decided(call.timeout).thenRun(() -> send(call, controller, link, link.use()));
        } else {
            send(call, controller, link, reason);
        }
    }

    private void send(Call call, HBaseRpcController controller, ServerLink link, Reason decided) {
        Reason reason = decided;
        try {
            if (reason == null && client.coreClient().failedServers.isFailedServer(remoteId.getAddress())) {
                link.down("a connection to it failed");
                reason = Reason.AFTER_FAILURES;
            }
            if (reason == null) {
                NettyRpcConnection taken = core();
                calls.countCore();
                sendByCore(taken, call, controller);
            } else {
                calls.countTcp(reason);
                tcp.sendRequest(call, controller);
            }
        } catch (IOException e) {
            call.setException(e);
        }
    }

    /** A caller that will wait sends itself, unless another thread drives the loop. */
    private void sendByCore(NettyRpcConnection taken, Call call, HBaseRpcController controller) {
        Caller caller = Caller.current();
        if (caller != null) {
            caller.waitsOn(loop);
        }
        boolean drives = caller != null && loop.enter();
        try {
            taken.sendRequest(call, controller);
        } finally {
            if (drives) {
                loop.leave();
            }
        }
    }

    private NettyRpcConnection core() throws IOException {
        NettyRpcConnection made = core;
        if (made == null) {
            synchronized (this) {
                if (removed) {
                    throw new ConnectionClosedException("Connection closed");
                }
                if (core == null) {
                    NettyRpcConnection next = client.newConnection(client.coreClient(), remoteId);
                    loop = CoreClients.loopOf(next);
                    core = next;
                }
                made = core;
            }
        }
        return made;
    }

    @Override
    public boolean isActive() {
        NettyRpcConnection made = core;
        return tcp.isActive() || made != null && made.isActive();
    }

    @Override
    public void shutdown() {
        tcp.shutdown();
        NettyRpcConnection made = core;
        if (made != null) {
            made.shutdown();
        }
    }

    @Override
    public synchronized void cleanupConnection() {
        removed = true;
        tcp.cleanupConnection();
        if (core != null) {
            core.cleanupConnection();
        }
    }
}
