// SPDX-License-Identifier: Apache-2.0
package org.apache.hadoop.ipc;

import java.io.IOException;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.security.token.SecretManager;
import org.apache.hadoop.security.token.TokenIdentifier;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.verbena.hadoop.rpc.node.CoreNode;
import org.verbena.hadoop.rpc.node.RpcConf;

/** Hadoop's own server, which reads and answers on streams of the core as well as at its port. */
public final class CoreRpcServer extends ProtobufRpcEngine2.Server {
    private static final Logger LOG = LoggerFactory.getLogger(CoreRpcServer.class);

    /** Null: it serves by TCP alone. */
    private final ServedStreams streams;

    /** As Hadoop's. A wrong setting, or a Hadoop of other insides, makes it a server by TCP alone, with one line. */
    public CoreRpcServer(Class<?> protocol, Object implementation, Configuration conf, String bindAddress, int port, int handlers,
            int readers, int queueSizePerHandler, boolean verbose, SecretManager<? extends TokenIdentifier> secrets,
            String portRange, AlignmentContext alignment) throws IOException {
        super(protocol, implementation, conf, bindAddress, port, handlers, readers, queueSizePerHandler, verbose, secrets,
            portRange, alignment);
        ServedStreams made = null;
        try {
            RpcConf settings = RpcConf.of(conf);
            if (Internals.MISSING != null) {
                LOG.warn("Verbena stands aside, calls come by TCP: this Hadoop differs: {}", Internals.MISSING);
            } else if (settings.enabled()) {
                made = new ServedStreams(this, CoreNode.of(settings));
            }
        } catch (IllegalArgumentException e) {
            LOG.error("Verbena stands aside, calls to port {} come by TCP: {}", getPort(), e.getMessage());
        } catch (LinkageError e) {
            LOG.warn("Verbena stands aside, calls to port {} come by TCP: this Hadoop differs: {}", getPort(), e.toString());
        }
        streams = made;
    }

    @Override
    public synchronized void start() {
        if (streams != null) {
            streams.open();
        }
        super.start();
    }

    @Override
    public synchronized void stop() {
        if (streams != null) {
            streams.close();
        }
        super.stop();
    }

    /** The question for a greeting is none of the server's calls. */
    @Override
    void updateMetrics(Call call, long startNanos, boolean dropped) {
        if (!GreetingService.METHOD.equals(call.getDetailedMetricsName())) {
            super.updateMetrics(call, startNanos, dropped);
        }
    }
}
