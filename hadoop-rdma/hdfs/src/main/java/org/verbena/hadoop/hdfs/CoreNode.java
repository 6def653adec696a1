// SPDX-License-Identifier: Apache-2.0
// The engines of this JVM, for a set of settings.
package org.verbena.hadoop.hdfs;

import java.io.IOException;
import java.net.InetAddress;
import java.security.GeneralSecurityException;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import org.apache.hadoop.util.ShutdownHookManager;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.verbena.core.VbnContext;
import org.verbena.core.VbnEngine;
import org.verbena.core.VbnException;
import org.verbena.core.plugin.Carriers;
import org.verbena.core.plugin.ClusterKey;
import org.verbena.core.plugin.CoreContexts;
import org.verbena.core.plugin.FailedStart;
import org.verbena.core.plugin.PluginLog;
import org.verbena.core.plugin.StreamBudget;
import org.verbena.core.stream.StreamLimits;
import org.verbena.core.stream.VbnStreams;
import org.verbena.hadoop.hdfs.settings.HdfsConf;

/**
 * Hadoop makes socket factories without number and closes none of them, so this hangs off a static table. The native core
 * starts when the first DataNode has answered: a client of a cluster without the plugin never loads it. Thread safe.
 *
 * <p>Streams that others open have engines, and those that this process opens another one: in a DataNode one thread waits for
 * data of the former and another one for acknowledgements of the latter, and of the threads that wait for one engine only one
 * can be woken by what it waits for. Where one thread waits for both, as in Verbena's receiver, both have one engine
 * ({@link #dataNodes(VbnEngine)}): a second engine would need its own thread, and a switch, for each acknowledgement.
 */
final class CoreNode {
    private static final Logger LOG = LoggerFactory.getLogger(CoreNode.class);
    private static final Map<HdfsConf, CoreNode> NODES = new ConcurrentHashMap<>();
    private static final int HOOK_PRIORITY = 5;
    private static final int PROCESSORS = 4;
    private static final int MOST_ENGINES = 4;
    /** A packet of Hadoop, 64 KiB with checksums and header, is one message. */
    private static final int PIECE = 80 << 10;
    /** What one stream may have at most. */
    private static final StreamLimits LIMITS = new StreamLimits(StreamLimits.DEFAULT.window(), PIECE,
        StreamLimits.DEFAULT.streamsPerPeer(), StreamLimits.DEFAULT.kept());

    private final HdfsConf conf;
    private final Tally tally = new Tally();
    private final DataNodes dataNodes = new DataNodes(this, this::start);
    private final Map<VbnEngine, DataNodes> companions = new HashMap<>();
    private final DataPorts ports = new DataPorts();
    private VbnContext context;
    private VbnStreams calling;
    private List<VbnStreams> serving;
    private final FailedStart failure = new FailedStart();

    private CoreNode(HdfsConf conf) {
        this.conf = conf;
        if (!ShutdownHookManager.get().isShutdownInProgress()) {
            ShutdownHookManager.get().addShutdownHook(() -> end(), HOOK_PRIORITY);
        }
    }

    /** The node of this JVM for some settings. */
    static CoreNode of(HdfsConf conf) {
        return NODES.computeIfAbsent(conf, CoreNode::new);
    }

    HdfsConf conf() {
        return conf;
    }

    /** The cluster's key, whose settings texts name. */
    ClusterKey key() {
        return conf.key();
    }

    Tally tally() {
        return tally;
    }

    DataNodes dataNodes() {
        return dataNodes;
    }

    /** The DataNodes as one of the engines to which others open streams reaches them; any other engine has those of all. */
    synchronized DataNodes dataNodes(VbnEngine engine) {
        for (VbnStreams streams : serving == null ? List.<VbnStreams>of() : serving) {
            if (streams.engine() == engine) {
                return companions.computeIfAbsent(engine, key -> new DataNodes(this, local -> streams));
            }
        }
        return dataNodes;
    }

    /** The DataNodes that this process holds. */
    DataPorts ports() {
        return ports;
    }

    /**
     * Starts the core, once, for streams to others.
     *
     * @param local the address that it listens on, when none is set
     * @throws IOException when it does not start: now, and at later calls until it is tried again ({@link FailedStart})
     */
    synchronized VbnStreams start(InetAddress local) throws IOException {
        if (calling == null) {
            calling = streams(local, "verbena-hdfs");
        }
        return calling;
    }

    /** As {@link #start}, for streams that others open: one for every four processors, among which clients are spread. */
    List<VbnStreams> serve(InetAddress local) throws IOException {
        return serve(local, engines(Runtime.getRuntime().availableProcessors()));
    }

    synchronized List<VbnStreams> serve(InetAddress local, int engines) throws IOException {
        if (serving == null) {
            List<VbnStreams> made = new ArrayList<>();
            for (int i = 0; i < engines; i++) {
                made.add(streams(local, "verbena-serve"));
            }
            made.forEach(streams -> streams.serve(Hello.SERVICE, ports));
            serving = List.copyOf(made);
        }
        return serving;
    }

    /** All that comes over a network to one engine passes one thread at a time. */
    static int engines(int processors) {
        return Math.max(1, Math.min(MOST_ENGINES, processors / PROCESSORS));
    }

    private VbnStreams streams(InetAddress local, String name) throws IOException {
        failure.check();
        try {
            if (context == null) {
                context = open(local);
            }
            VbnStreams made = new VbnStreams(context.shareEngine(name), Hello.MESSAGES, LIMITS,
                StreamBudget.shared());
            tally.add(made);
            return made;
        } catch (IOException | GeneralSecurityException | LinkageError e) {
            throw failure.failed(e instanceof IOException known ? known : new IOException(e.toString(), e));
        }
    }

    private VbnContext open(InetAddress local) throws IOException, GeneralSecurityException {
        return CoreContexts.open(conf.coreConfig(), conf.core(), conf.key(),
            new PluginLog(LOG::error, LOG::warn, LOG::info, LOG::debug), local);
    }

    /** Whether connections are Hadoop's own where the core has nothing but TCP, which does not encrypt. */
    synchronized boolean leavesTcp() {
        try {
            return conf.tcpIsHadoops() && context != null && context.settingNumber("tl.tcp.tls") == 0;
        } catch (VbnException e) {
            return false; // it has been closed
        }
    }

    /** What carries blocks, for the log. */
    synchronized String carriers() throws VbnException {
        return Carriers.words(serving.get(0).engine().transports(), context);
    }

    private void end() {
        if (!tally.isEmpty()) {
            LOG.info("Verbena ends: {}", tally.sentence());
        }
    }
}
