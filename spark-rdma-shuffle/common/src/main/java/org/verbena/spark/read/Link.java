// SPDX-License-Identifier: Apache-2.0
// The connection to one other executor.
package org.verbena.spark.read;

import java.util.concurrent.TimeUnit;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.verbena.core.VbnPeer;

/** Not connected, connecting, up, or down for a while (30 s, doubled with every failure up to 8 min). Thread safe. */
final class Link {
    private static final Logger LOG = LoggerFactory.getLogger(Link.class);
    private static final long FIRST_PAUSE = TimeUnit.SECONDS.toNanos(30);
    private static final int MAX_DOUBLINGS = 4;

    private final String host;
    private final int port;
    private final String executor;
    private VbnPeer peer;
    private boolean connecting;
    private int failures;
    private long downUntil;

    Link(String host, int port, String executor) {
        this.host = host;
        this.port = port;
        this.executor = executor;
    }

    String host() {
        return host;
    }

    int port() {
        return port;
    }

    String executor() {
        return executor;
    }

    /** The peer when the link is up, else null. */
    synchronized VbnPeer peer() {
        return peer;
    }

    /** True for one caller, who then has to connect and to call up or down. */
    synchronized boolean mayConnect() {
        if (peer != null || connecting || failures > 0 && System.nanoTime() - downUntil < 0) {
            return false;
        }
        connecting = true;
        return true;
    }

    synchronized void up(VbnPeer connected) {
        connecting = false;
        peer = connected;
    }

    /** Ends the peer and begins a pause. */
    void down(String cause) {
        VbnPeer last;
        boolean first;
        synchronized (this) {
            last = peer;
            peer = null;
            connecting = false;
            downUntil = System.nanoTime() + (FIRST_PAUSE << Math.min(failures, MAX_DOUBLINGS));
            first = failures++ == 0;
        }
        if (last != null) {
            last.close();
        }
        if (first) {
            LOG.info("blocks of {} come by Spark's transport for now: {}", this, cause);
        }
    }

    @Override
    public String toString() {
        return "executor " + executor + " at " + host + ":" + port;
    }
}
