// SPDX-License-Identifier: Apache-2.0
// The connection to one other executor.
package org.verbena.spark.read;

import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.verbena.core.VbnException;
import org.verbena.core.VbnPeer;
import org.verbena.core.plugin.PullQueue;
import org.verbena.core.plugin.Remote;
import org.verbena.spark.metrics.Traffic;

/** Says in the log when blocks of the executor come by Spark's transport, and why. Thread safe. */
final class Link {
    private static final Logger LOG = LoggerFactory.getLogger(Link.class);
    private static final String DOWN = "blocks of {} come by Spark's transport for now: {}";

    private final String host;
    private final int port;
    private final String executor;
    private final PullQueue pulls = new PullQueue();
    private final Remote<VbnPeer> remote = new Remote<>(VbnPeer::close);
    private volatile Traffic.Path path = Traffic.Path.TCP;

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
    VbnPeer peer() {
        return remote.peer();
    }

    /** True for one caller, who then has to connect and to call up or down. */
    boolean mayConnect() {
        return remote.mayConnect();
    }

    Remote<VbnPeer> remote() {
        return remote;
    }

    void up(VbnPeer connected, Traffic.Path by) {
        path = by;
        remote.up(connected);
    }

    /** How blocks come over this link when it is up. */
    Traffic.Path path() {
        return path;
    }

    /** Why blocks come by Spark's transport when it is not up. */
    Traffic.Reason reason() {
        return switch (remote.state()) {
            case REFUSED -> Traffic.Reason.REFUSED;
            case DOWN -> Traffic.Reason.DOWN;
            case UNCONNECTED, CONNECTING, UP -> Traffic.Reason.CONNECTING;
        };
    }

    /** The other executor has no engine, or an unusable one: begins a pause. */
    void refused(String cause) {
        if (remote.refused()) {
            LOG.info("blocks of {} come by Spark's transport: it has no Verbena engine ({})", this, cause);
        }
    }

    /** The connection failed or was lost: ends the peer and begins a pause. */
    void down(String cause) {
        if (remote.down()) {
            LOG.warn(DOWN, this, cause);
        }
    }

    /** The connection has ended, perhaps one before that which stands now. cause: null when this executor's engine has ended. */
    void ended(VbnPeer lost, VbnException cause, boolean used) {
        if (remote.ended(lost, cause, used) == Remote.End.FAILED) {
            LOG.warn(DOWN, this, cause == null ? "this executor's engine has ended" : cause.getMessage());
        }
    }

    /** Ends a connection that nobody uses, if it is still this one. */
    void release(VbnPeer unused) {
        remote.release(unused);
    }

    @Override
    public String toString() {
        return "executor " + executor + " at " + host + ":" + port;
    }
}
