// SPDX-License-Identifier: Apache-2.0
// The core's context of this JVM, for a set of settings, and what it calls by it.
package org.verbena.hadoop.rpc.node;

import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.security.GeneralSecurityException;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Consumer;
import org.apache.hadoop.util.ShutdownHookManager;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.verbena.core.VbnContext;
import org.verbena.core.VbnEngine;
import org.verbena.core.VbnException;
import org.verbena.core.plugin.Carriers;
import org.verbena.core.plugin.CoreContexts;
import org.verbena.core.plugin.FailedStart;
import org.verbena.core.plugin.PathCounts;
import org.verbena.core.plugin.PluginLog;
import org.verbena.core.plugin.Remotes;
import org.verbena.core.plugin.StreamBudget;
import org.verbena.core.stream.StreamLimits;
import org.verbena.core.stream.VbnStreams;

/**
 * Hadoop makes RPC clients and servers without number, so this hangs off a static table. In a client the native core starts when
 * the first server has greeted. All calls to others share one engine, each server has one of its own. Thread safe.
 */
public final class CoreNode {
    private static final Logger LOG = LoggerFactory.getLogger(CoreNode.class);
    private static final Map<RpcConf, CoreNode> NODES = new ConcurrentHashMap<>();
    private static final int HOOK_PRIORITY = 5;

    private final RpcConf conf;
    private final PathCounts<Reason> calls = new PathCounts<>("calls", Reason.class);
    private final Remotes<InetSocketAddress, ServerLink> servers = new Remotes<>(Remotes.MOST, ServerLink::remote);
    private final List<VbnStreams> used = new CopyOnWriteArrayList<>();
    private final AtomicInteger nextNumber = new AtomicInteger();
    private final ScheduledExecutorService background;
    private final FailedStart failure = new FailedStart();
    private VbnContext context;
    private VbnStreams calling;

    private CoreNode(RpcConf conf) {
        this.conf = conf;
        background = Executors.newSingleThreadScheduledExecutor(task -> daemon(task, "verbena-rpc-idle"));
        if (!ShutdownHookManager.get().isShutdownInProgress()) {
            ShutdownHookManager.get().addShutdownHook(this::end, HOOK_PRIORITY);
        }
    }

    /** Returns the node of this JVM for some settings. */
    public static CoreNode of(RpcConf conf) {
        return NODES.computeIfAbsent(conf, CoreNode::new);
    }

    /** Returns the settings. */
    public RpcConf conf() {
        return conf;
    }

    /** Returns the counters of calls by path. */
    public PathCounts<Reason> calls() {
        return calls;
    }

    /** Returns who closes what is idle. */
    public ScheduledExecutorService background() {
        return background;
    }

    /** Runs what may block for long: a server may not answer. */
    public void connect(Runnable task) {
        daemon(task, "verbena-connect").start();
    }

    private static Thread daemon(Runnable task, String name) {
        Thread thread = new Thread(task, name);
        thread.setDaemon(true);
        return thread;
    }

    /**
     * Returns what is known of a server.
     *
     * @param address where it listens, resolved
     * @return null when more servers are reached than are remembered
     */
    public ServerLink server(InetSocketAddress address) {
        return servers.of(address, at -> new ServerLink(this, at));
    }

    /** Looks at all servers that were called. */
    public void eachServer(Consumer<ServerLink> look) {
        servers.forEach(look);
    }

    /** Returns the next number of a stream, which stands where the port of a TCP connection would: 1 to 32767. */
    int nextNumber() {
        return 1 + (nextNumber.getAndIncrement() & 0x7fff) % 0x7fff;
    }

    /**
     * Starts the core, once, for calls to others.
     *
     * @param local the address that it listens on, when none is set
     * @throws IOException when it does not start: now, and at later calls until it is tried again ({@link FailedStart})
     */
    public synchronized VbnStreams calling(InetAddress local) throws IOException {
        if (calling == null) {
            calling = started(local, () -> context.shareEngine("verbena-rpc"));
        }
        return calling;
    }

    /** As {@link #calling}, for one server; the calling thread is to drive the engine, by turn. */
    public synchronized VbnStreams serving(InetAddress local) throws IOException {
        return started(local, () -> context.attachSharedEngine("verbena-rpc-serve", null));
    }

    /** Forgets the streams of a server that has ended. */
    public void ended(VbnStreams ended) {
        used.remove(ended);
    }

    /** Makes an engine of the context. */
    @FunctionalInterface
    private interface Maker {
        VbnEngine make() throws VbnException;
    }

    private VbnStreams started(InetAddress local, Maker maker) throws IOException {
        failure.check();
        try {
            if (context == null) {
                context = open(local);
            }
            VbnEngine engine = maker.make();
            boolean entered = engine.enter(); // an attached engine takes calls of its thread only while that drives it
            VbnStreams made = new VbnStreams(engine, RpcHello.MESSAGES, StreamLimits.DEFAULT, StreamBudget.shared());
            if (entered) {
                engine.leave();
            }
            used.add(made);
            return made;
        } catch (IOException | GeneralSecurityException | LinkageError e) {
            throw failure.failed(e instanceof IOException known ? known : new IOException(e.toString(), e));
        }
    }

    private VbnContext open(InetAddress local) throws IOException, GeneralSecurityException {
        return CoreContexts.open(conf.coreConfig(), conf.core(), conf.key(),
            new PluginLog(LOG::error, LOG::warn, LOG::info, LOG::debug), local);
    }

    /** Returns what carries calls, for the log. */
    public synchronized String carriers(VbnEngine engine) throws VbnException {
        return Carriers.words(engine.transports(), context);
    }

    /** Returns all numbers by name: calls by path, streams and bytes of the core. */
    public Map<String, Long> numbers() {
        Map<String, Long> all = calls.numbers();
        used.forEach(one -> one.counters().forEach((name, count) -> all.merge(name, count, Long::sum)));
        return all;
    }

    /** Returns the numbers as a sentence for the log. */
    public String sentence() {
        Map<String, Long> now = numbers();
        return calls.sentence() + "; " + now.getOrDefault("stream.sent_bytes", 0L) + " bytes sent and "
            + now.getOrDefault("stream.received_bytes", 0L) + " received by the core, in "
            + now.getOrDefault("stream.opened", 0L) + " connections to others and "
            + now.getOrDefault("stream.accepted", 0L) + " from others";
    }

    private void end() {
        Map<String, Long> now = numbers();
        if (now.getOrDefault("calls.core", 0L) > 0 || now.getOrDefault("stream.accepted", 0L) > 0) {
            LOG.info("Verbena ends: RPC had {}", sentence());
        }
    }
}
