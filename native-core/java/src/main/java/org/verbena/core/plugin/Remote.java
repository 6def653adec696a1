// SPDX-License-Identifier: Apache-2.0
package org.verbena.core.plugin;

import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import org.verbena.core.VbnException;
import org.verbena.core.VbnStatus;

/**
 * The connection to one other process, which a plugin makes on demand and can do without: not connected, connecting, up,
 * or down for a while (30 s, doubled with every failure up to 8 min, and 30 s again after a connection that stood for 8 min).
 * A connection that nobody uses ends without a pause: the next user makes it again. Whoever gets the right to connect, from
 * {@link #begin} or {@link #mayConnect}, connects and reports. Others may wait for that. Thread safe.
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

    /** How a connection has ended. */
    public enum End {
        /** It was another one than that which stands now. */
        NOT_THIS,
        /** Nobody used it: the next user makes it again at once. */
        UNUSED,
        /** It failed, for the first time or after it had stood for long: worth a line in the log. */
        FAILED,
        /** It failed again. */
        FAILED_AGAIN
    }

    private static final long FIRST_PAUSE = TimeUnit.SECONDS.toNanos(30);
    private static final int MAX_DOUBLINGS = 4;

    private final Consumer<? super C> closer;
    private C peer;
    private State state = State.UNCONNECTED;
    private boolean retired;
    /** The last one that somebody can wait for; null before the first one. */
    private Attempt attempt;
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
     * Asks for the right to connect while others wait for it.
     *
     * @param waitMillis how long they wait, at most
     * @return the attempt, for one caller, who then has to connect, to call up, refused, down or release, and then to end the
     *     attempt; null for all others
     */
    public synchronized Attempt begin(long waitMillis) {
        if (!mayConnect()) {
            return null;
        }
        attempt = new Attempt(waitMillis);
        return attempt;
    }

    /** Returns the last attempt that {@link #begin} gave, which may have ended; null before the first one. */
    public synchronized Attempt attempt() {
        return attempt;
    }

    /**
     * Waits while the connection is being made, as long as it is worth waiting for.
     *
     * @return the peer when the connection is up, else null
     */
    public C await() {
        Attempt awaited;
        synchronized (this) {
            awaited = state == State.CONNECTING ? attempt : null;
        }
        if (awaited != null) {
            awaited.await();
        }
        return peer();
    }

    /** Returns whether the other process has not answered an attempt for so long that nobody waits for it. */
    public boolean isSilent() {
        Attempt last = attempt();
        return last != null && last.isSilent();
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

    /** Returns whether it will never be a connection again: whoever forgot it has another one by now, or has ended. */
    public synchronized boolean isRetired() {
        return retired;
    }

    /** Ends the connection, also one that is being made now, and is none from now on. Its owner ends. */
    public void close() {
        C last;
        synchronized (this) {
            retired = true;
            last = peer;
            peer = null;
            state = State.UNCONNECTED;
        }
        if (last != null) {
            closer.accept(last);
        }
    }

    /**
     * The connection stands. A peer that was lost while it was connected is to be reported afterwards, by {@link #ended}.
     *
     * @param connected the peer, which is closed when the connection ends; at once when this was closed meanwhile
     */
    public void up(C connected) {
        up(connected, System.nanoTime());
    }

    void up(C connected, long now) {
        boolean late;
        synchronized (this) {
            late = retired;
            if (!late) {
                state = State.UP;
                peer = connected;
                upSince = now;
            }
        }
        if (late) {
            closer.accept(connected);
        }
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
     * The connection has ended by itself. That is a failure, and begins a pause, unless the other side closed it or has ended
     * while nobody used it. Whoever tells it twice, or late, leaves another connection alone.
     *
     * @param lost the peer of that connection
     * @param cause why; null when this side's engine has ended
     * @param used whether somebody waited for something that was to come by it
     */
    public End ended(C lost, VbnException cause, boolean used) {
        synchronized (this) {
            if (peer != lost) {
                return End.NOT_THIS;
            }
        }
        if (!used && cause != null && cause.kind() == VbnStatus.PEER_LOST) {
            release(lost);
            return End.UNUSED;
        }
        return down() ? End.FAILED : End.FAILED_AGAIN;
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
