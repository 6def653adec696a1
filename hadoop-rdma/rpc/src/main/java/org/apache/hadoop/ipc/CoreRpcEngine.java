// SPDX-License-Identifier: Apache-2.0
// Hadoop's engine for protocols of protobuf; its clients and servers are ours.
package org.apache.hadoop.ipc;

import java.io.IOException;
import java.net.InetSocketAddress;
import java.util.Map;
import java.util.concurrent.atomic.AtomicBoolean;
import javax.net.SocketFactory;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.io.retry.RetryPolicy;
import org.apache.hadoop.ipc.Client.ConnectionId;
import org.apache.hadoop.security.UserGroupInformation;
import org.apache.hadoop.security.token.SecretManager;
import org.apache.hadoop.security.token.TokenIdentifier;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.verbena.hadoop.rpc.node.CoreNode;
import org.verbena.hadoop.rpc.node.RpcConf;

/** Subclassed by the class that settings name. */
public abstract class CoreRpcEngine extends ProtobufRpcEngine2 {
    private static final Logger LOG = LoggerFactory.getLogger(CoreRpcEngine.class);
    private static final AtomicBoolean TOLD = new AtomicBoolean();

    /** Returns what this Hadoop lacks, so that it runs as stock; null: nothing. */
    public static String missing() {
        return Internals.MISSING;
    }

    /** Makes a proxy whose client is known by a socket factory. */
    @FunctionalInterface
    private interface Maker<T> {
        ProtocolProxy<T> make(SocketFactory factory) throws IOException;
    }

    @Override
    public <T> ProtocolProxy<T> getProxy(Class<T> protocol, long version, ConnectionId to, Configuration conf,
            SocketFactory factory, AlignmentContext alignment) throws IOException {
        return make(conf, factory, ours -> super.getProxy(protocol, version, to, conf, ours, alignment));
    }

    @Override
    public <T> ProtocolProxy<T> getProxy(Class<T> protocol, long version, InetSocketAddress address, UserGroupInformation ticket,
            Configuration conf, SocketFactory factory, int timeout, RetryPolicy policy, AtomicBoolean fallback,
            AlignmentContext alignment) throws IOException {
        return make(conf, factory, ours -> super.getProxy(protocol, version, address, ticket, conf, ours, timeout, policy, fallback,
            alignment));
    }

    /**
     * Hadoop keeps clients by socket factory. Ours is put where it finds it, and counts its users as the others do.
     *
     * @throws IOException when a setting is wrong
     */
    private static <T> ProtocolProxy<T> make(Configuration conf, SocketFactory factory, Maker<T> maker) throws IOException {
        CoreNode node = node(conf);
        if (node == null) {
            return maker.make(factory);
        }
        SocketFactory ours = new CoreSocketFactory(factory, node);
        ClientCache cache = Internals.cache();
        synchronized (cache) {
            Map<SocketFactory, Client> clients = Internals.clients(cache);
            boolean first = !clients.containsKey(ours);
            if (first) {
                clients.put(ours, new CoreClient(conf, ours, node));
            }
            try {
                return maker.make(ours);
            } finally {
                Client client = clients.get(ours);
                if (first && client.decAndGetCount() == 0) {
                    clients.remove(ours);
                }
            }
        }
    }

    /** Null: by TCP alone. */
    private static CoreNode node(Configuration conf) throws IOException {
        RpcConf settings;
        try {
            settings = RpcConf.of(conf);
        } catch (IllegalArgumentException e) {
            throw new IOException(e.getMessage(), e);
        }
        if (Internals.MISSING != null && settings.enabled() && TOLD.compareAndSet(false, true)) {
            LOG.warn("Verbena stands aside, calls go by TCP: this Hadoop differs: {}", Internals.MISSING);
        }
        return settings.enabled() && Internals.MISSING == null ? CoreNode.of(settings) : null;
    }

    @Override
    public RPC.Server getServer(Class<?> protocol, Object implementation, String bindAddress, int port, int handlers, int readers,
            int queueSizePerHandler, boolean verbose, Configuration conf, SecretManager<? extends TokenIdentifier> secrets,
            String portRange, AlignmentContext alignment) throws IOException {
        return new CoreRpcServer(protocol, implementation, conf, bindAddress, port, handlers, readers, queueSizePerHandler, verbose,
            secrets, portRange, alignment);
    }
}
