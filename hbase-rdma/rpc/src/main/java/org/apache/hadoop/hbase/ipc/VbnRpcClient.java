// SPDX-License-Identifier: Apache-2.0
package org.apache.hadoop.hbase.ipc;

import java.io.IOException;
import java.net.InetSocketAddress;
import java.net.SocketAddress;
import java.util.Map;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.hbase.ServerName;
import org.apache.hadoop.hbase.client.MetricsConnection;
import org.apache.hadoop.hbase.io.crypto.tls.X509Util;
import org.apache.hadoop.hbase.net.Address;
import org.apache.hadoop.hbase.security.User;
import org.apache.hbase.thirdparty.com.google.protobuf.BlockingRpcChannel;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.verbena.hbase.node.CoreNode;
import org.verbena.hbase.node.HBaseConf;

/**
 * HBase's RPC client, whose calls go by the core to servers that have it, by {@code hbase.rpc.client.impl}. When it cannot, it
 * says why in one line and is HBase's own. Thread safe.
 */
public class VbnRpcClient extends NettyRpcClient {
    private static final Logger LOG = LoggerFactory.getLogger(VbnRpcClient.class);

    private final CoreNode node;
    private NettyRpcClient coreClient;
    private boolean closed;

    /**
     * HBase makes it by reflection.
     *
     * @param conf configuration
     * @param clusterId the cluster's id, or null
     * @param localAddress what sockets are bound to, or null
     * @param metrics the connection's metrics, or null
     * @param attributes sent to servers
     */
    public VbnRpcClient(Configuration conf, String clusterId, SocketAddress localAddress, MetricsConnection metrics,
            Map<String, byte[]> attributes) {
        super(conf, clusterId, localAddress, metrics, attributes);
        node = nodeOf(conf);
    }

    /** Null when calls go by TCP. A wrong setting stops the program: its text says what would be right. */
    private CoreNode nodeOf(Configuration conf) {
        HBaseConf settings;
        try {
            settings = HBaseConf.of(conf);
        } catch (IllegalArgumentException e) {
            LOG.error("Verbena: {}", e.getMessage()); // HBase shows an exception without its text
            throw e;
        }
        String why = !settings.enabled() ? "verbena.hbase.enabled is false"
            : userProvider.isHBaseSecurityEnabled()
                ? "the core carries no connections with SASL (hbase.security.authentication)"
            : conf.getBoolean(X509Util.HBASE_CLIENT_NETTY_TLS_ENABLED, false)
                ? "the core carries no connections with TLS (" + X509Util.HBASE_CLIENT_NETTY_TLS_ENABLED + ")"
            : CoreClients.missing();
        if (why != null) {
            LOG.info("Verbena stands aside, calls of this client go by TCP: {}", why);
            return null;
        }
        return CoreNode.of(settings);
    }

    @Override
    protected NettyRpcConnection createConnection(ConnectionId id) throws IOException {
        InetSocketAddress address = node == null ? null : Address.toSocketAddress(id.getAddress());
        if (address == null || address.isUnresolved()) {
            return super.createConnection(id);
        }
        return new SwitchingConnection(this, id, () -> node.server(address), node.calls());
    }

    /** {@inheritDoc} */
    @Override
    public BlockingRpcChannel createBlockingRpcChannel(ServerName server, User user, int timeout) {
        return node == null ? super.createBlockingRpcChannel(server, user, timeout)
            : new CallerChannel(this, server, user, timeout);
    }

    /** Whether threads that wait for answers drive the event loops. */
    boolean callersDrive() {
        return node.callersDrive();
    }

    /**
     * Makes one of the two connections behind a {@link SwitchingConnection}; subclasses may make another one.
     *
     * @param on this client, or that of the core
     */
    NettyRpcConnection newConnection(NettyRpcClient on, ConnectionId id) throws IOException {
        return new NettyRpcConnection(on, id);
    }

    /**
     * The client that makes connections by the core; made when the first server is reached by it.
     *
     * @throws IOException when this client is closed, or cannot make it
     */
    synchronized NettyRpcClient coreClient() throws IOException {
        if (closed) {
            throw new StoppedRpcClientException();
        }
        if (coreClient == null) {
            coreClient = CoreClients.on(node.group(), this, conf);
        }
        return coreClient;
    }

    @Override
    protected void closeInternal() {
        NettyRpcClient used;
        synchronized (this) {
            closed = true;
            used = coreClient;
        }
        if (used != null) {
            used.close();
        }
        super.closeInternal();
    }
}
