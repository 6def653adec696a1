// SPDX-License-Identifier: Apache-2.0
// One request with the blocks that are still to come.
package org.verbena.spark.read;

import java.util.ArrayList;
import java.util.BitSet;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.apache.spark.network.shuffle.BlockFetchingListener;

/** Each block is taken once, by whoever answers it. Thread safe. */
final class FetchRequest {
    private static final long QUIET = TimeUnit.SECONDS.toNanos(1);

    private final long id;
    private final Link link;
    private final long peerUid;
    private final String[] names;
    private final BlockFetchingListener listener;
    private final BitSet taken;
    private final boolean afterRest;
    private boolean granted;
    private long timeout;
    private long sentAt;
    private long lastHeard;

    /**
     * Makes a request.
     *
     * @param afterRest whether its connection had not been used for so long that the other side may be closing it
     */
    FetchRequest(long id, Link link, long peerUid, String[] names, boolean afterRest, BlockFetchingListener listener) {
        this.id = id;
        this.link = link;
        this.peerUid = peerUid;
        this.names = names;
        this.afterRest = afterRest;
        this.listener = listener;
        this.taken = new BitSet(names.length);
    }

    long id() {
        return id;
    }

    Link link() {
        return link;
    }

    boolean isAfterRest() {
        return afterRest;
    }

    long peerUid() {
        return peerUid;
    }

    int count() {
        return names.length;
    }

    String name(int block) {
        return names[block];
    }

    BlockFetchingListener listener() {
        return listener;
    }

    /** True for the first who asks. */
    synchronized boolean take(int block) {
        boolean first = !taken.get(block);
        taken.set(block);
        return first;
    }

    /** Takes all that is left. */
    synchronized String[] takeRest() {
        List<String> rest = new ArrayList<>();
        for (int i = taken.nextClearBit(0); i < names.length; i = taken.nextClearBit(i + 1)) {
            rest.add(names[i]);
        }
        taken.set(0, names.length);
        return rest.toArray(new String[0]);
    }

    synchronized boolean isComplete() {
        return taken.cardinality() == names.length;
    }

    /** It has its grant and is sent; times are nanoseconds of System.nanoTime. */
    synchronized void started(long now, long timeoutNanos) {
        granted = true;
        timeout = timeoutNanos;
        sentAt = now;
        lastHeard = now;
    }

    synchronized long sentAt() {
        return sentAt;
    }

    synchronized void heard(long now) {
        lastHeard = now;
    }

    synchronized boolean isExpired(long now) {
        return now - lastHeard > timeout;
    }

    /** Whether nothing has come for so long that nothing can be under way. */
    synchronized boolean isQuiet(long now) {
        return now - lastHeard > QUIET;
    }

    /** True once, for the one who gives the grant back. */
    synchronized boolean takeGrant() {
        boolean had = granted;
        granted = false;
        return had;
    }
}
