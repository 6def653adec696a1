// SPDX-License-Identifier: Apache-2.0
// The fetch requests that are under way, and how many may be.
package org.verbena.spark.read;

import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicLong;
import org.verbena.core.plugin.Grants;

/** A request is in it from its start until its last block is answered or it is given up. Thread safe. */
final class Requests {
    /** Requests ask for a fifth of spark.reducer.maxSizeInFlight each; more of them bring no more bandwidth. */
    private static final int MAX_OUTSTANDING = 8;

    private final Grants grants = new Grants(MAX_OUTSTANDING);
    private final Map<Long, FetchRequest> pending = new ConcurrentHashMap<>();
    private final AtomicLong next = new AtomicLong(1);

    long newId() {
        return next.getAndIncrement();
    }

    /** Runs it now, or when another request has ended. */
    void granted(Runnable start) {
        grants.acquire(start);
    }

    void add(FetchRequest request) {
        pending.put(request.id(), request);
    }

    /** Null when nobody waits for it. */
    FetchRequest find(long id) {
        return pending.get(id);
    }

    boolean has(FetchRequest request) {
        return pending.get(request.id()) == request;
    }

    /** What waits for this executor. */
    List<FetchRequest> of(Link link) {
        return pending.values().stream().filter(request -> request.link() == link).toList();
    }

    /** All; others may come and go meanwhile. */
    Iterable<FetchRequest> all() {
        return pending.values();
    }

    /** False when it had ended before. */
    boolean ended(FetchRequest request) {
        boolean first = pending.remove(request.id(), request);
        giveGrantBack(request);
        return first;
    }

    /** An executor that hangs sends nothing, and must not hold up the others. */
    void giveGrantBack(FetchRequest request) {
        if (request.takeGrant()) {
            grants.release();
        }
    }

    /** Nobody waits for a grant any more. */
    void close() {
        grants.lift();
    }
}
