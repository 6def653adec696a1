// SPDX-License-Identifier: Apache-2.0
// The connection to one other executor.
package org.verbena.spark.read;

import java.util.concurrent.TimeUnit;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.verbena.core.VbnPeer;
import org.verbena.core.plugin.PullQueue;
import org.verbena.spark.metrics.Traffic;

/**
 * Not connected, connecting, up, or down for a while (30 s, doubled with every failure up to 8 min). A connection that
 * nobody uses ends without a pause: the next fetch makes it again. Thread safe.
 */
final class Link {
    private static final Logger LOG = LoggerFactory.getLogger(Link.class);
    private static final long FIRST_PAUSE = TimeUnit.SECONDS.toNanos(30);
    private static final int MAX_DOUBLINGS = 4;

    private final String host;
    private final int port;
    private final String executor;
    private final PullQueue pulls = new PullQueue();
    private VbnPeer peer;
    private Traffic.Path path = Traffic.Path.TCP;
    private Traffic.Reason reason = Traffic.Reason.CONNECTING;
    private boolean connecting;
    private boolean retired;
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

    /** The replies that come over it; engine thread. */
    PullQueue pulls() {
        return pulls;
    }

    /** The peer when the link is up, else null. */
    synchronized VbnPeer peer() {
        return peer;
    }

    /** True for one caller, who then has to connect and to call up or down. */
    synchronized boolean mayConnect() {
        if (peer != null || connecting || retired || isPaused(System.nanoTime())) {
            return false;
        }
        connecting = true;
        return true;
    }

    private boolean isPaused(long now) {
        return failures > 0 && now - downUntil < 0;
    }

    /** True when it is no connection, and from now on will not be one: the client may forget it. */
    synchronized boolean retire(long now) {
        retired = retired || peer == null && !connecting && !isPaused(now);
        return retired;
    }

    synchronized void up(VbnPeer connected, Traffic.Path by) {
        connecting = false;
        peer = connected;
        path = by;
    }

    /** How blocks come over this link when it is up. */
    synchronized Traffic.Path path() {
        return path;
    }

    /** Why blocks come by Spark's transport when it is not up. */
    synchronized Traffic.Reason reason() {
        return connecting ? Traffic.Reason.CONNECTING : reason;
    }

    /** The other executor has no engine, or an unusable one: begins a pause. */
    void refused(String cause) {
        if (pause(Traffic.Reason.REFUSED)) {
            LOG.info("blocks of {} come by Spark's transport: it has no Verbena engine ({})", this, cause);
        }
    }

    /** The connection failed or was lost: ends the peer and begins a pause. */
    void down(String cause) {
        if (pause(Traffic.Reason.DOWN)) {
            LOG.warn("blocks of {} come by Spark's transport for now: {}", this, cause);
        }
    }

    /** Ends a connection that nobody uses, if it is still this one; or this is how the other side ended it. */
    void release(VbnPeer unused) {
        synchronized (this) {
            if (peer != null && peer != unused) {
                return;
            }
            peer = null;
            connecting = false;
            reason = Traffic.Reason.CONNECTING;
        }
        unused.close();
    }

    /** This executor is stopping. */
    void ended() {
        pause(Traffic.Reason.DOWN);
    }

    /** True for the first pause. */
    private boolean pause(Traffic.Reason why) {
        VbnPeer last;
        boolean first;
        synchronized (this) {
            last = peer;
            peer = null;
            connecting = false;
            reason = why;
            downUntil = System.nanoTime() + (FIRST_PAUSE << Math.min(failures, MAX_DOUBLINGS));
            first = failures++ == 0;
        }
        if (last != null) {
            last.close();
        }
        return first;
    }

    @Override
    public String toString() {
        return "executor " + executor + " at " + host + ":" + port;
    }
}
