// SPDX-License-Identifier: Apache-2.0
package org.verbena.core.plugin;

import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.Consumer;
import java.util.function.Function;

/**
 * What a process knows of the others that it connects to, by address: bounded. What nobody has asked for in an hour is forgotten,
 * unless it is connected or in a pause; when there are as many as may be, what nobody has asked for in a second goes. Thread safe.
 *
 * @param <K> an address
 * @param <L> what is known of it, with a {@link Remote} in it
 */
public final class Remotes<K, L> {
    /** How many a plugin remembers that has no setting for it: in less than 16 MiB. */
    public static final int MOST = 16_384;
    /** What nobody has asked for in so long is forgotten; nanoseconds. */
    public static final long FORGET = TimeUnit.HOURS.toNanos(1);
    private static final long CROWDED = TimeUnit.SECONDS.toNanos(1);

    private final int most;
    private final Function<? super L, ? extends Remote<?>> remote;
    private final Map<K, Known<L>> all = new ConcurrentHashMap<>();
    private final AtomicLong nextSweep;
    private final AtomicLong nextCrowd;

    private static final class Known<L> {
        final L link;
        volatile long lastUse;

        Known(L link, long now) {
            this.link = link;
            this.lastUse = now;
        }
    }

    /**
     * Makes one that knows nobody.
     *
     * @param most how many are remembered; threads that ask at the same moment may make it a few more
     * @param remote gives the connection in what is known of an address
     */
    public Remotes(int most, Function<? super L, ? extends Remote<?>> remote) {
        this(most, remote, System.nanoTime());
    }

    Remotes(int most, Function<? super L, ? extends Remote<?>> remote, long now) {
        this.most = most;
        this.remote = remote;
        nextSweep = new AtomicLong(now + FORGET);
        nextCrowd = new AtomicLong(now);
    }

    /**
     * Returns what is known of an address; it counts as asked for.
     *
     * @param address the address
     * @param maker makes what is known of an address that nobody has asked for yet; called under a lock
     * @return null when as many are remembered as may be, all of them connected or in a pause
     */
    public L of(K address, Function<? super K, ? extends L> maker) {
        return of(address, maker, System.nanoTime());
    }

    L of(K address, Function<? super K, ? extends L> maker, long now) {
        long due = nextSweep.get();
        if (now - due >= 0 && nextSweep.compareAndSet(due, now + FORGET)) {
            sweep(now, FORGET);
        }
        Known<L> known = all.get(address);
        if (known != null) {
            known.lastUse = now;
            if (!remote.apply(known.link).isRetired()) {
                return known.link;
            }
        }
        return mayAdd(now) ? add(address, maker, now) : null;
    }

    private L add(K address, Function<? super K, ? extends L> maker, long now) {
        return all.compute(address, (at, known) -> known != null && !remote.apply(known.link).isRetired() ? known
            : new Known<L>(maker.apply(at), now)).link;
    }

    /**
     * When there are too many, looks for those that may go: once a second, because looking at all takes time. Whoever has asked
     * for one in the last second may be about to connect it.
     */
    private boolean mayAdd(long now) {
        long due = nextCrowd.get();
        if (all.size() >= most && now - due >= 0 && nextCrowd.compareAndSet(due, now + CROWDED)) {
            sweep(now, CROWDED);
        }
        return all.size() < most;
    }

    /**
     * Forgets what nobody has asked for lately; happens by itself once an hour.
     *
     * @param now a time of System.nanoTime
     */
    public void sweep(long now) {
        sweep(now, FORGET);
    }

    private void sweep(long now, long unused) {
        all.keySet().forEach(address -> all.computeIfPresent(address, (at, known) ->
            now - known.lastUse >= unused && remote.apply(known.link).retire(now) ? null : known));
    }

    /**
     * Looks at all that is known.
     *
     * @param look is given each once
     */
    public void forEach(Consumer<? super L> look) {
        all.values().forEach(known -> look.accept(known.link));
    }

    /** Returns how many are known. */
    public int size() {
        return all.size();
    }

    /** Ends all connections for good. */
    public void close() {
        forEach(link -> remote.apply(link).close());
    }
}
