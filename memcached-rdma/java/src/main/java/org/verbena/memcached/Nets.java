// SPDX-License-Identifier: Apache-2.0
package org.verbena.memcached;

import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import org.verbena.core.VbnConfig;
import org.verbena.core.VbnContext;
import org.verbena.core.VbnEngine;
import org.verbena.core.VbnException;
import org.verbena.core.VbnStatus;

/** The contexts of a client in the core, one for each key of servers. Any thread but an engine's. */
final class Nets implements AutoCloseable {
    /** As the server's: clients of any user who know the key, and small rings. */
    private static final Map<String, String> PRESETS = Map.of("security.same_user", "false", "tl.shm.ring_slots", "32",
        "tl.shm.chunks", "4", "tl.shm.chunk_bytes", "4K");
    /** Room for what is no call in an engine's queue. */
    private static final int OTHERS = 4096;
    private static final Duration QUEUE_TIME = Duration.ofMillis(100);

    /** A context with its engine. */
    private record Entry(byte[] key, boolean noAuth, boolean devices, VbnContext context, Net net) {
    }

    private final Counters counters;
    private final int queue;
    private final List<Entry> entries = new ArrayList<>();
    private boolean closed;
    /** The engine that waiting threads drive; null: none is open. */
    private volatile VbnEngine first;

    /** calls: most of them that can be on their way, so that no engine's queue is ever full. */
    Nets(Counters counters, int calls) {
        this.counters = counters;
        queue = calls + OTHERS;
    }

    /** The engine that waiting threads drive, or null. */
    VbnEngine first() {
        return first;
    }

    /**
     * Gives the net for a key. May take a while: the core measures its costs once.
     *
     * @param key ignored with noAuth
     * @param devices of RDMA, which cost memory: only where the server has some
     */
    synchronized Net get(byte[] key, boolean noAuth, boolean devices) throws VbnException {
        if (closed) {
            throw new VbnException(VbnStatus.CLOSED, "the client is closed");
        }
        for (Entry entry : entries) {
            if (entry.noAuth == noAuth && entry.devices == devices && (noAuth || Arrays.equals(entry.key, key))) {
                return entry.net;
            }
        }
        VbnConfig config = new VbnConfig().log(line -> { }).queue(queue, QUEUE_TIME); // explain() tells
        PRESETS.forEach((name, value) -> prefer(config, name, value));
        if (!devices) {
            prefer(config, "tl.enable", "shm,tcp");
        }
        if (noAuth) {
            config.set("security.auth", "none");
        } else {
            config.jobKey(key);
        }
        VbnContext context = VbnContext.open(config);
        try {
            Net net = new Net(context.shareEngine("verbena-memcached-core"), counters);
            entries.add(new Entry(key, noAuth, devices, context, net));
            first = entries.get(0).net.engine();
            return net;
        } catch (VbnException e) {
            context.close();
            throw e;
        }
    }

    /** The environment has the last word. */
    private static void prefer(VbnConfig config, String name, String value) {
        if (System.getenv("VBN_" + name.toUpperCase(Locale.ROOT).replace('.', '_')) == null) {
            config.set(name, value);
        }
    }

    @Override
    public synchronized void close() {
        closed = true;
        first = null;
        for (Entry entry : entries) {
            entry.net.engine().close();
            entry.context.close();
            if (entry.key != null) {
                Arrays.fill(entry.key, (byte) 0);
            }
        }
        entries.clear();
    }
}
