// SPDX-License-Identifier: Apache-2.0
package org.verbena.netty;

import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import org.verbena.core.VbnException;
import org.verbena.core.VbnPeer;

/**
 * The engines that a loop's client channels are connected to: one connection for all of them, kept for a while after the last
 * channel. Event loop's thread.
 */
final class Peers {
    private static final long IDLE_SECONDS = 60;

    private final VbnEventLoop loop;
    private final Map<ByteBuffer, Use> byAddress = new HashMap<>();

    /** A peer and how many channels use it. */
    static final class Use {
        private final ByteBuffer address;
        private VbnPeer peer;
        private int channels;
        private long idleSince;
        private boolean watched;

        private Use(ByteBuffer address) {
            this.address = address;
        }

        VbnPeer peer() {
            return peer;
        }
    }

    Peers(VbnEventLoop loop) {
        this.loop = loop;
    }

    /** To be released once. */
    Use acquire(byte[] address) throws VbnException {
        ByteBuffer key = ByteBuffer.wrap(address);
        Use use = byAddress.get(key);
        if (use == null) {
            use = new Use(key);
            use.peer = loop.engine().connect(address, null);
            byAddress.put(key, use);
            Use connected = use;
            use.peer.onLost((peer, cause) -> forget(connected));
        }
        use.channels++;
        return use;
    }

    private void forget(Use use) {
        if (byAddress.remove(use.address, use)) {
            use.peer.close();
        }
    }

    void release(Use use) {
        use.channels--;
        if (use.channels == 0) {
            use.idleSince = System.nanoTime();
            watch(use, TimeUnit.SECONDS.toNanos(IDLE_SECONDS));
        }
    }

    private void watch(Use use, long nanos) {
        if (!use.watched && !loop.isShuttingDown()) {
            use.watched = true;
            loop.schedule(() -> endIfIdle(use), nanos, TimeUnit.NANOSECONDS);
        }
    }

    private void endIfIdle(Use use) {
        use.watched = false;
        if (use.channels > 0 || byAddress.get(use.address) != use) {
            return;
        }
        long left = TimeUnit.SECONDS.toNanos(IDLE_SECONDS) - (System.nanoTime() - use.idleSince);
        if (left > 0) {
            watch(use, left);
        } else {
            forget(use);
        }
    }

    void close() {
        new ArrayList<>(byAddress.values()).forEach(this::forget);
    }
}
