// SPDX-License-Identifier: Apache-2.0
package org.apache.hadoop.hbase.ipc;

import java.io.IOException;
import org.apache.hadoop.hbase.exceptions.ConnectionClosedException;
import org.verbena.core.plugin.PathCounts;
import org.verbena.hbase.Reason;
import org.verbena.hbase.ServerLink;

/**
 * Two connections to one server, HBase's own over TCP and HBase's own over the core's channels; each call takes the second when
 * the server is reached by the core. This object itself is never connected: an idle connection of the two ends alone. Thread
 * safe.
 */
final class SwitchingConnection extends NettyRpcConnection {
    private final VbnRpcClient client;
    private final NettyRpcConnection tcp;
    private final ServerLink link;
    private final PathCounts<Reason> calls;
    private volatile NettyRpcConnection core;
    private boolean removed;

    /**
     * Makes one that is not connected.
     *
     * @param client makes the connections
     * @param link whether the server is reached by the core
     * @param calls counts them
     */
    SwitchingConnection(VbnRpcClient client, ConnectionId id, ServerLink link, PathCounts<Reason> calls)
            throws IOException {
        super(client, id);
        super.cleanupConnection(); // its own header is not sent
        this.client = client;
        this.tcp = client.newConnection(client, id);
        this.link = link;
        this.calls = calls;
    }

    @Override
    public void sendRequest(Call call, HBaseRpcController controller) {
        if (call.isConnectionRegistryCall()) {
            calls.countTcp(Reason.REGISTRY);
            tcp.sendRequest(call, controller);
            return;
        }
        Reason reason = link.use();
        if (reason == Reason.WHILE_CONNECTING) {
            link.decided(call.timeout).thenRun(() -> send(call, controller, link.use()));
        } else {
            send(call, controller, reason);
        }
    }

    private void send(Call call, HBaseRpcController controller, Reason decided) {
        Reason reason = decided;
        NettyRpcConnection taken = tcp;
        try {
            if (reason == null && client.coreClient().failedServers.isFailedServer(remoteId.getAddress())) {
                link.down("a connection to it failed");
                reason = Reason.AFTER_FAILURES;
            }
            if (reason == null) {
                taken = core();
                calls.countCore();
            } else {
                calls.countTcp(reason);
            }
        } catch (IOException e) {
            call.setException(e);
            return;
        }
        taken.sendRequest(call, controller);
    }

    private NettyRpcConnection core() throws IOException {
        NettyRpcConnection made = core;
        if (made == null) {
            synchronized (this) {
                if (removed) {
                    throw new ConnectionClosedException("Connection closed");
                }
                if (core == null) {
                    core = client.newConnection(client.coreClient(), remoteId);
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
