// SPDX-License-Identifier: Apache-2.0
package org.verbena.core.stream;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicInteger;
import org.verbena.core.VbnException;
import org.verbena.core.VbnPeer;

/**
 * The streams of one peer: those that we opened and those that it opened, each with numbers of their opener's; and the memory
 * that each side lends the other. Thread safe.
 */
final class PeerStreams {
    private final VbnPeer peer;
    private final Lending lending;
    private final AtomicInteger nextNumber = new AtomicInteger();
    /** What the peer lets each of our streams send first; 0: it has not accepted any. */
    private volatile long firstCredit;
    private final Map<Integer, VbnStream> opened = new ConcurrentHashMap<>();
    private final Map<Integer, VbnStream> accepted = new ConcurrentHashMap<>();
    /** Closed here, but the peer has yet to read from memory that we lend. */
    private final Map<Integer, VbnStream> owedOpened = new ConcurrentHashMap<>();
    private final Map<Integer, VbnStream> owedAccepted = new ConcurrentHashMap<>();

    PeerStreams(VbnStreams streams, VbnPeer peer) {
        this.peer = peer;
        this.lending = new Lending(streams, peer);
    }

    VbnPeer peer() {
        return peer;
    }

    Lending lending() {
        return lending;
    }

    long firstCredit() {
        return firstCredit;
    }

    void firstCredit(long bytes) {
        firstCredit = bytes;
    }

    /** allowed: what the stream may send before it is accepted. */
    VbnStream open(VbnStreams streams, long allowed) {
        while (true) {
            VbnStream stream = new VbnStream(streams, this, nextNumber.incrementAndGet(), true, allowed);
            if (opened.putIfAbsent(stream.number(), stream) == null) {
                return stream;
            }
            stream.discard();
        }
    }

    /** Null when the peer has used the number already, or has too many streams. */
    VbnStream accept(VbnStreams streams, StreamFrame open, int most) {
        VbnStream stream = new VbnStream(streams, this, open.stream(), false, open.value());
        if (accepted.size() < most && accepted.putIfAbsent(open.stream(), stream) == null) {
            return stream;
        }
        stream.discard();
        return null;
    }

    /** The stream that a frame is for, null when it has been closed. */
    VbnStream find(StreamFrame frame) {
        return (frame.isFromOpener() ? accepted : opened).get(frame.stream());
    }

    /** As {@link #find}, of the closed ones whose slots are not free. */
    VbnStream findOwed(StreamFrame frame) {
        return (frame.isFromOpener() ? owedAccepted : owedOpened).get(frame.stream());
    }

    /** The stream is closed. */
    void forget(VbnStream stream) {
        settle(stream);
        (stream.isOpener() ? opened : accepted).remove(stream.number(), stream);
    }

    /** Keeps a closed stream as long as the peer reads from its slots. */
    void settle(VbnStream stream) {
        Map<Integer, VbnStream> owed = stream.isOpener() ? owedOpened : owedAccepted;
        owed.put(stream.number(), stream);
        if (!stream.hasSlots()) {
            owed.remove(stream.number(), stream);
        }
    }

    List<VbnStream> all() {
        List<VbnStream> all = new ArrayList<>(opened.values());
        all.addAll(accepted.values());
        return all;
    }

    void fail(VbnException cause) {
        all().forEach(stream -> stream.fail(cause));
        lending.close();
        owedOpened.clear();
        owedAccepted.clear();
    }
}
