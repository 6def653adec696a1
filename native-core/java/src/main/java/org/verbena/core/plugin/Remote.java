// SPDX-License-Identifier: Apache-2.0
package org.verbena.core.plugin;

import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;

/**
 * The connection to one other process, which a plugin makes on demand and can do without: not connected, connecting, up,
 * or down for a while (30 s, doubled with every failure up to 8 min, and 30 s again after a connection that stood for 8 min).
 * A connection that nobody uses ends without a pause: the next user makes it again. Whoever gets true from {@link #mayConnect}
 * connects and reports. Thread safe.
 *
 * @param <C> the connection: a peer, a channel
 */
public final class Remote<C> {
    /** What stands between a user and the connection. */
    public enum State {
        /** Nobody has asked for it, or nobody used it for long. */
        UNCONNECTED,
        /** It is being made. */
        CONNECTING,
        /** It can be used. */
        UP,
        /** The other side has no engine, or an unusable one. */
        REFUSED,
        /** It failed, or was lost. */
        DOWN
    }

    private static final long FIRST_PAUSE = TimeUnit.SECONDS.toNanos(30);
    private static final int MAX_DOUBLINGS = 4;

    private final Consumer<? super C> closer;
    private C peer;
    private State state = State.UNCONNECTED;
    private boolean retired;
    private int failures;
    private long downUntil;
    private long upSince;

    /**
     * Makes one that is not connected.
     *
     * @param closer closes a connection; not called under a lock
     */
    public Remote(Consumer<? super C> closer) {
        this.closer = closer;
    }

    /** Returns the peer when the connection is up, else null. */
    public synchronized C peer() {
        return peer;
    }

    /** Returns what stands between a user and the connection. */
    public synchronized State state() {
        return state;
    }

    /**
     * Asks for the right to connect.
     *
     * @return true for one caller, who then has to connect and to call up, refused, down or release
     */
    public boolean mayConnect() {
        return mayConnect(System.nanoTime());
    }

    synchronized boolean mayConnect(long now) {
        if (peer != null || state == State.CONNECTING || retired || isPaused(now)) {
            return false;
        }
        state = State.CONNECTING;
        return true;
    }

    private boolean isPaused(long now) {
        return failures > 0 && now - downUntil < 0;
    }

    /**
     * Asks whether its owner may forget it.
     *
     * @param now a time of System.nanoTime
     * @return true when it is no connection, and from now on will not be one
     */
    public synchronized boolean retire(long now) {
        retired = retired || peer == null && state != State.CONNECTING && !isPaused(now);
        return retired;
    }

    /**
     * The connection stands.
     *
     * @param connected the peer, which is closed when the connection ends
     */
    public void up(C connected) {
        up(connected, System.nanoTime());
    }

    synchronized void up(C connected, long now) {
        state = State.UP;
        peer = connected;
        upSince = now;
    }

    /**
     * The other side has no engine, or an unusable one: begins a pause.
     *
     * @return true for the first pause
     */
    public boolean refused() {
        return pause(State.REFUSED, System.nanoTime());
    }

    /**
     * The connection failed or was lost: ends the peer and begins a pause.
     *
     * @return true for the first pause, also the first after a connection that stood for long
     */
    public boolean down() {
        return pause(State.DOWN, System.nanoTime());
    }

    /**
     * As {@link #down()}, for who may be late: another connection is left alone.
     *
     * @param lost the peer of the connection that was lost
     * @return true for the first pause
     */
    public boolean down(C lost) {
        synchronized (this) {
            if (peer != lost) {
                return false;
            }
        }
        return down();
    }

    /**
     * Ends a connection that nobody uses, if it is still this one; or this is how the other side ended it.
     *
     * @param unused the peer of that connection
     */
    public void release(C unused) {
        synchronized (this) {
            if (peer != null && peer != unused) {
                return;
            }
            peer = null;
            state = State.UNCONNECTED;
        }
        closer.accept(unused);
    }

    boolean pause(State why, long now) {
        C last;
        boolean first;
        synchronized (this) {
            last = peer;
            peer = null;
            state = why;
            if (last != null && now - upSince >= FIRST_PAUSE << MAX_DOUBLINGS) {
                failures = 0;
            }
            downUntil = now + (FIRST_PAUSE << Math.min(failures, MAX_DOUBLINGS));
            first = failures++ == 0;
        }
        if (last != null) {
            closer.accept(last);
        }
        return first;
    }
}
