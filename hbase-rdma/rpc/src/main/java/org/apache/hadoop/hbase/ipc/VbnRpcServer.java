// SPDX-License-Identifier: Apache-2.0
package org.apache.hadoop.hbase.ipc;

import java.io.IOException;
import java.net.InetSocketAddress;
import java.util.List;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.hbase.Server;
import org.apache.hadoop.hbase.io.crypto.tls.X509Util;
import org.apache.hbase.thirdparty.io.netty.channel.Channel;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.verbena.core.VbnException;
import org.verbena.core.plugin.RepeatedStart;
import org.verbena.core.plugin.StreamBudget;
import org.verbena.hbase.netty.VbnChannel;
import org.verbena.hbase.node.CoreNode;
import org.verbena.hbase.node.HBaseConf;

/**
 * HBase's RPC server, which answers calls by the core beside those by TCP, by {@code hbase.rpc.server.impl}. When it cannot, it
 * says why in one line, is HBase's own, and tries again later ({@link RepeatedStart}).
 */
public class VbnRpcServer extends NettyRpcServer {
    private static final Logger LOG = LoggerFactory.getLogger(VbnRpcServer.class);

    /** Null before this object is made, and when it stands aside: connections come from then on. */
    private volatile CoreServing serving;
    private RepeatedStart starting;

    /**
     * HBase makes it by reflection.
     *
     * @param server the master or region server, or null
     * @param name its name
     * @param services what it answers
     * @param bindAddress where it listens for TCP
     * @param conf configuration
     * @param scheduler runs calls
     * @param reservoirEnabled whether buffers are pooled
     * @throws IOException when it cannot listen for TCP
     */
    public VbnRpcServer(Server server, String name, List<RpcServer.BlockingServiceAndInterface> services,
            InetSocketAddress bindAddress, Configuration conf, RpcScheduler scheduler, boolean reservoirEnabled)
            throws IOException {
        super(server, name, services, bindAddress, conf, scheduler, reservoirEnabled);
        HBaseConf settings = HBaseConf.of(conf); // a wrong one stops the server: the text says what would be right
        try {
            String why = reasonToStandAside(conf, settings);
            if (why != null) {
                LOG.info("Verbena stands aside, calls of {} come by TCP: {}", name, why);
            } else {
                starting = RepeatedStart.begin("verbena-start", () -> serve(name, settings), cause -> LOG.warn(
                    "Verbena stands aside, calls of {} come by TCP: {}; tried again in half a minute, and then less often", name,
                    cause));
            }
        } catch (RuntimeException | LinkageError e) {
            LOG.warn("Verbena stands aside, calls of {} come by TCP: {}", name,
                e.getMessage() == null || e instanceof LinkageError ? e.toString() : e.getMessage());
        }
    }

    private String reasonToStandAside(Configuration conf, HBaseConf settings) {
        return !settings.enabled() ? "verbena.hbase.enabled is false"
            : isSecurityEnabled ? "the core carries no connections with SASL (hbase.security.authentication)"
            : conf.getBoolean(X509Util.HBASE_SERVER_NETTY_TLS_ENABLED, false)
                ? "the core carries no connections with TLS (" + X509Util.HBASE_SERVER_NETTY_TLS_ENABLED + ")" : null;
    }

    private void serve(String name, HBaseConf settings) throws IOException {
        CoreNode node = CoreNode.of(settings);
        node.serves();
        try {
            serving = new CoreServing(this, node);
        } catch (ReflectiveOperationException e) {
            throw new IllegalStateException(e.toString(), e); // stays so
        }
        LOG.info("Verbena 0.1.0 answers calls of {} at {} by {}, {}", name, getListenerAddress(), carriers(node),
            settings.key().openToAll() ? "open to all (verbena.hbase.auth=none)" : "with the key of " + settings.key().file());
        LOG.info("Verbena: {}", StreamBudget.words());
    }

    private static String carriers(CoreNode node) {
        try {
            return node.carriers();
        } catch (VbnException e) {
            return e.getMessage();
        }
    }

    /** {@inheritDoc} Called by the constructor above ours, too, when a connection comes that early. */
    @Override
    protected NettyServerRpcConnection createNettyServerRpcConnection(Channel channel) {
        CoreServing known = serving;
        if (channel instanceof VbnChannel ours) {
            return new AnsweringConnection(this, ours);
        }
        if (known != null) {
            channel.pipeline().addFirst(known.detector());
        }
        return super.createNettyServerRpcConnection(channel);
    }

    @Override
    public synchronized void stop() {
        if (starting != null) {
            starting.close();
        }
        CoreServing known = serving;
        if (known != null) {
            serving = null;
            known.close();
        }
        super.stop();
    }
}
