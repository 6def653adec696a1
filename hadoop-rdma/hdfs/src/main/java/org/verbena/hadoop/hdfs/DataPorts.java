// SPDX-License-Identifier: Apache-2.0
package org.verbena.hadoop.hdfs;

import java.io.IOException;
import java.net.InetAddress;
import java.nio.ByteBuffer;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.verbena.core.VbnPeer;
import org.verbena.core.stream.StreamService;
import org.verbena.core.stream.VbnStream;

/**
 * The DataNodes of this process by data port; a stream goes to the one that its hello names. Peers outlive a DataNode that is
 * started again in the same process, so their addresses are known here. Thread safe.
 */
final class DataPorts implements StreamService {
    private static final Logger LOG = LoggerFactory.getLogger(DataPorts.class);

    /** Takes the streams of one DataNode. Runs on the engine's thread and must not block. */
    @FunctionalInterface
    interface Door {
        /** False to refuse it: the client goes by TCP. */
        boolean accept(VbnStream stream, Hello hello);
    }

    private static final long PAUSE = TimeUnit.MINUTES.toNanos(1);

    private final Map<Integer, Door> doors = new ConcurrentHashMap<>();
    /** From where a peer's greeting was asked. */
    private final Map<VbnPeer, InetAddress> known = new ConcurrentHashMap<>();
    private final AtomicLong nextWarning = new AtomicLong(System.nanoTime());

    void open(int dataPort, Door door) {
        doors.put(dataPort, door);
    }

    /** Another DataNode may have the port by now: it keeps it. */
    void close(int dataPort, Door door) {
        doors.remove(dataPort, door);
    }

    /** A peer's address; null when it has shown no token yet. */
    InetAddress addressOf(VbnPeer peer) {
        return known.get(peer);
    }

    /** Until the peer is lost. */
    void know(VbnPeer peer, InetAddress from) {
        known.put(peer, from);
        peer.onLost((lost, cause) -> known.remove(lost));
    }

    @Override
    public boolean accept(VbnStream stream, ByteBuffer bytes) {
        try {
            Hello hello = Hello.decode(bytes);
            Door door = doors.get(hello.dataPort());
            return door != null && door.accept(stream, hello);
        } catch (IOException e) {
            refused(e.getMessage());
            return false;
        }
    }

    /** A warning once a minute: a client may open streams without end. */
    private void refused(String cause) {
        long now = System.nanoTime();
        long after = nextWarning.get();
        if (now - after >= 0 && nextWarning.compareAndSet(after, now + PAUSE)) {
            LOG.warn("Verbena refuses streams: {}", cause);
        } else {
            LOG.debug("a stream is refused: {}", cause);
        }
    }
}
