// SPDX-License-Identifier: Apache-2.0
package org.verbena.memcached;

import java.util.ArrayDeque;
import java.util.Arrays;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicIntegerArray;
import java.util.function.Function;
import org.verbena.memcached.MemcachedException.Kind;
import org.verbena.memcached.config.ClientConfig;
import org.verbena.memcached.config.ServerAddress;
import org.verbena.memcached.read.StoreReader;

/**
 * One server: the calls that it has, its connection, and why it has this one. What is not said to be for any thread belongs to the
 * loop's.
 */
final class Server {
    /** Calls of a server that have not left, those that ended early included; more fail at once. */
    static final int CALLS_MAX = 4096;
    private static final int WRITES = 1024;
    private static final long MS = 1_000_000;
    /** After an attempt that failed. */
    private static final long RETRY = 100 * MS;

    final ServerAddress address;
    final ClientConfig config;
    final Counters counters;
    private final Loop loop;
    private final Join join;
    private final Set<Call> calls = ConcurrentHashMap.newKeySet();
    /** Calls that may change items, by the hash of the key. */
    private final AtomicIntegerArray writes = new AtomicIntegerArray(WRITES);
    private final AtomicInteger count = new AtomicInteger();
    /** Calls that go by the loop's thread and are not with a carrier yet: later ones of their threads go the same way. */
    private final AtomicInteger detour = new AtomicInteger();
    private final ArrayDeque<Call> waiting = new ArrayDeque<>();
    private volatile Carrier carrier;
    private volatile String why = "";
    private volatile boolean closed;
    private volatile Attempt attempt;
    private long retryAt;
    /** What attempts leave for the next ones. */
    final Attempt.Memory memory = new Attempt.Memory();

    Server(ServerAddress address, ClientConfig config, Loop loop, Counters counters, Function<Server, Join> joins) {
        this.address = address;
        this.join = joins.apply(this);
        this.config = config;
        this.loop = loop;
        this.counters = counters;
    }

    // -------------------------------------------------------------------------------------- any thread

    /** Takes a call, which ends in any case. */
    void start(Call call) {
        if (count.incrementAndGet() > CALLS_MAX) {
            count.decrementAndGet();
            call.releaseValue();
            call.fail(new MemcachedException(Kind.BUSY, address + ": " + CALLS_MAX
                + " requests wait for its answers; begin fewer at once, or add servers"));
            return;
        }
        if (call.request.isWrite()) {
            writes.incrementAndGet(placeOf(call.request.key()));
        }
        calls.add(call);
        loop.remind(call.deadline);
        Carrier now = carrier;
        if (now != null && detour.get() == 0) {
            now.start(call);
        } else {
            again(call);
        }
    }

    /** A call that has no carrier. */
    void again(Call call) {
        detour.incrementAndGet();
        loop.execute(() -> queue(call));
    }

    /** A call has its answer, or gets none any more. */
    void leave(Call call) {
        if (call.leave() && calls.remove(call)) {
            if (call.request.isWrite()) {
                writes.decrementAndGet(placeOf(call.request.key()));
            }
            count.decrementAndGet();
        }
    }

    /** Ends calls whose time is over. */
    void expire(long now) {
        for (Call call : calls) {
            if (now >= call.deadline && !call.isOver()) {
                call.fail(new MemcachedException(Kind.TIMEOUT, address + ": no answer within the " + config.timeoutMs()
                    + " ms of timeout=" + (carrier == null ? "; " + absence() : "")));
            }
        }
    }

    private static int placeOf(byte[] key) {
        return Arrays.hashCode(key) & WRITES - 1;
    }

    /** Reads an item from the server's memory; null: it is to be asked for, also while this client changes it. */
    StoreReader.Item read(byte[] key, StoreReader.Room room) {
        OneSided reads = carrier instanceof MessageCarrier messages ? messages.onesided() : null;
        StoreReader.Item item = reads == null || writes.get(placeOf(key)) > 0 ? null : reads.get(key, room);
        if (item != null) {
            counters.onesided.increment();
        }
        return item;
    }

    /** One line: the way, and why. */
    String explain() {
        Carrier now = carrier;
        return address + ": " + (now != null ? now.describe() : absence());
    }

    private String absence() {
        return (attempt != null ? "connecting" : "not connected") + (why.isEmpty() ? "" : ": " + why);
    }

    /** Calls that have not left. */
    int count() {
        return count.get();
    }

    // --------------------------------------------------------------------------------------- the loop

    private void queue(Call call) {
        if (closed) {
            detour.decrementAndGet();
            drop(call, closedError());
        } else if (call.isOver()) {
            detour.decrementAndGet();
            drop(call, null);
        } else {
            waiting.add(call);
            pump();
        }
    }

    /** The last ones, when nothing runs any more. Any thread. */
    void abandon() {
        for (Call call : calls) {
            drop(call, closedError());
        }
    }

    private void drop(Call call, MemcachedException failure) {
        call.releaseValue();
        leave(call);
        if (failure != null) {
            call.fail(failure);
        }
    }

    private MemcachedException closedError() {
        return new MemcachedException(Kind.CLOSED, address + ": the client is closed");
    }

    MemcachedException dead() {
        return new MemcachedException(Kind.SERVER_DEAD, address + ": " + why);
    }

    /** Hands waiting calls over, connecting first where need be. */
    private void pump() {
        Carrier now = carrier;
        while (now != null && !waiting.isEmpty()) {
            Call call = waiting.poll();
            now.start(call);
            detour.decrementAndGet();
        }
        if (waiting.isEmpty() || attempt != null || closed) {
            return;
        }
        if (Loop.now() < retryAt) {
            failWaiting(dead());
            return;
        }
        counters.connects.increment();
        attempt = new Attempt(this, loop, join);
        attempt.start();
    }

    private void failWaiting(MemcachedException cause) {
        for (Call call = waiting.poll(); call != null; call = waiting.poll()) {
            detour.decrementAndGet();
            drop(call, cause);
        }
    }

    /** Deadlines, limits of connecting, a server that is silent. */
    void check(long now) {
        expire(now);
        if (attempt != null) {
            attempt.check(now);
        }
        long silent = -1; // for so long while calls have run out of time
        long most = config.timeoutMs() * MS / 2;
        for (Call call : calls) {
            if (!call.isOver()) {
                loop.remind(call.deadline);
            } else if (call.sentAt < 0 && waiting.remove(call)) {
                detour.decrementAndGet();
                drop(call, null);
            } else if (call.sentAt >= 0 && carrier != null) {
                silent = Math.max(silent, now - Math.max(call.sentAt, carrier.heard()));
            }
        }
        if (silent > most) {
            broke(carrier, "no answer for " + silent / MS + " ms");
        } else if (silent >= 0) {
            loop.remind(now + most - silent + MS);
        }
    }

    /** An attempt has led to a connection. */
    void connected(Carrier with) {
        attempt = null;
        carrier = with;
        pump();
    }

    /** An attempt has failed. */
    void failed(String cause) {
        attempt = null;
        why = cause;
        retryAt = Loop.now() + RETRY;
        failWaiting(dead());
    }

    /** An attempt is to be made again: the server closed the connection at the hello. */
    void retry(String cause) {
        attempt = null;
        why = cause;
        pump();
    }

    /** A connection has ended; calls that it has fail, others get the next one. */
    void broke(Carrier which, String cause) {
        if (carrier != which || which == null) {
            return;
        }
        carrier = null;
        why = cause;
        which.end(dead());
        pump();
    }

    void close() {
        closed = true;
        why = "the client is closed";
        if (attempt != null) {
            attempt.end();
            attempt = null;
        }
        Carrier now = carrier;
        carrier = null;
        if (now != null) {
            now.end(closedError());
        }
        failWaiting(closedError());
    }
}
