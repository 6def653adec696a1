// SPDX-License-Identifier: Apache-2.0
// The event loops of this JVM, for a set of settings.
package org.verbena.hbase.node;

import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.security.GeneralSecurityException;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.LongAdder;
import org.apache.hadoop.util.ShutdownHookManager;
import org.apache.hbase.thirdparty.io.netty.util.concurrent.DefaultThreadFactory;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.verbena.core.VbnContext;
import org.verbena.core.VbnException;
import org.verbena.core.plugin.Carriers;
import org.verbena.core.plugin.CoreContexts;
import org.verbena.core.plugin.FailedStart;
import org.verbena.core.plugin.PathCounts;
import org.verbena.core.plugin.PluginLog;
import org.verbena.core.plugin.Remotes;
import org.verbena.core.plugin.StreamBudget;
import org.verbena.core.stream.StreamLimits;
import org.verbena.hbase.netty.VbnEventLoopGroup;

/**
 * HBase makes many RPC clients in a process, and a server beside them; all share the loops, which live as long as the JVM. In a
 * client the native core starts with the first call. Thread safe.
 */
public final class CoreNode {
    private static final Logger LOG = LoggerFactory.getLogger(CoreNode.class);
    private static final Map<HBaseConf, CoreNode> NODES = new ConcurrentHashMap<>();
    private static final int HOOK_PRIORITY = 5;

    private final HBaseConf conf;
    private final PathCounts<Reason> calls = new PathCounts<>("calls", Reason.class);
    private final LongAdder inlined = new LongAdder();
    private final Remotes<InetSocketAddress, ServerLink> servers = new Remotes<>(Remotes.MOST, ServerLink::remote);
    private VbnContext context;
    private VbnEventLoopGroup group;
    private final FailedStart failure = new FailedStart();
    private volatile boolean serves;

    private CoreNode(HBaseConf conf) {
        this.conf = conf;
        if (!ShutdownHookManager.get().isShutdownInProgress()) {
            ShutdownHookManager.get().addShutdownHook(this::end, HOOK_PRIORITY);
        }
    }

    /**
     * Returns the node of this JVM for some settings.
     *
     * @param conf the settings
     */
    public static CoreNode of(HBaseConf conf) {
        return NODES.computeIfAbsent(conf, CoreNode::new);
    }

    /** Returns the settings. */
    public HBaseConf conf() {
        return conf;
    }

    /** Returns the counters of calls by path. */
    public PathCounts<Reason> calls() {
        return calls;
    }

    /**
     * Returns what is known of a server.
     *
     * @param address where it listens for RPC, resolved
     * @return null when more servers are reached than are remembered; for one call, as it may be forgotten between two
     */
    public ServerLink server(InetSocketAddress address) {
        return servers.of(address, at -> new ServerLink(this, at));
    }

    /** Returns all servers that are known. */
    Remotes<InetSocketAddress, ServerLink> servers() {
        return servers;
    }

    /**
     * Starts the core, once.
     *
     * @param local the address that it listens on, when none is set
     * @return the event loops
     * @throws IOException when it does not start: now, and at later calls until it is tried again ({@link FailedStart})
     */
    public synchronized VbnEventLoopGroup start(InetAddress local) throws IOException {
        failure.check();
        if (group == null) {
            try {
                open(local);
            } catch (IOException | GeneralSecurityException | RuntimeException | LinkageError e) {
                throw failure.failed(e instanceof IOException known ? known : new IOException(cause(e), e));
            }
        }
        return group;
    }

    private void open(InetAddress local) throws IOException, GeneralSecurityException {
        context = CoreContexts.open(conf.coreConfig(), conf.core(), conf.key(),
            new PluginLog(LOG::error, LOG::warn, LOG::info, LOG::debug), local);
        try {
            group = new VbnEventLoopGroup(context, conf.loops(), new DefaultThreadFactory("verbena-hbase", true),
                StreamLimits.DEFAULT, StreamBudget.shared(), true);
        } catch (RuntimeException e) {
            context.close();
            throw e;
        }
    }

    /** A group that cannot be made hides the cause in exceptions of Netty's. */
    private static String cause(Throwable thrown) {
        Throwable inner = thrown;
        while (inner.getCause() != null && !(inner instanceof VbnException)) {
            inner = inner.getCause();
        }
        return inner.getMessage() == null ? inner.toString() : inner.getMessage();
    }

    /** Returns the event loops when the core has started, else null. */
    public synchronized VbnEventLoopGroup group() {
        return group;
    }

    /**
     * This process is a server: its threads that call others may hold locks which calls to it take, so they leave the event loops
     * alone.
     */
    public void serves() {
        serves = true;
    }

    /** Returns whether threads that wait for answers drive the event loops. */
    public boolean callersDrive() {
        return !serves;
    }

    /** Returns what carries calls, for the log. */
    public synchronized String carriers() throws VbnException {
        return Carriers.words(group.transports(), context);
    }

    /** A read of this server's has run on an event loop. */
    public void countInlined() {
        inlined.increment();
    }

    /** Returns all numbers by name: calls by path, streams and bytes of the core. */
    public Map<String, Long> numbers() {
        Map<String, Long> all = new LinkedHashMap<>(calls.numbers());
        all.put("calls.inlined", inlined.sum());
        VbnEventLoopGroup used = group();
        if (used != null) {
            all.putAll(used.counters());
        }
        return all;
    }

    /** Returns the numbers as a sentence for the log. */
    public String sentence() {
        Map<String, Long> now = numbers();
        return calls.sentence() + "; " + now.getOrDefault("stream.sent_bytes", 0L) + " bytes sent and "
            + now.getOrDefault("stream.received_bytes", 0L) + " received by the core, in "
            + now.getOrDefault("stream.opened", 0L) + " connections to others and "
            + now.getOrDefault("stream.accepted", 0L) + " from others; " + inlined.sum() + " reads answered on event loops";
    }

    private void end() {
        if (numbers().values().stream().anyMatch(value -> value != 0)) {
            LOG.info("Verbena ends: {}", sentence());
        }
    }
}
