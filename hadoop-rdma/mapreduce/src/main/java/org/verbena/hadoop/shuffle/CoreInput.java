// SPDX-License-Identifier: Apache-2.0
// One segment as a stream, for the stock merge manager.
package org.verbena.hadoop.shuffle;

import java.io.IOException;
import java.io.InputStream;
import java.nio.ByteBuffer;
import java.util.List;
import org.verbena.core.VbnPeer;

/** Two windows of a segment are under way: one is read while the next one comes. Belongs to one thread. */
final class CoreInput extends InputStream {
    private final FetchShare<?, ?> share;
    private final VbnPeer peer;
    private final int reduce;
    private final String attempt;
    private final long length;
    private final Rooms rooms;
    private ByteBuffer landing;
    private Exchange coming;
    private int comingRoom;
    private long asked;
    private ByteBuffer current = ByteBuffer.allocate(0);
    private IOException failure;
    private int failedRange = -1;

    /**
     * Asks for the first window.
     *
     * @param length bytes of the segment
     * @param rooms where windows land; the stream's until close
     */
    CoreInput(FetchShare<?, ?> share, VbnPeer peer, int reduce, String attempt, long length, Rooms rooms) throws IOException {
        this.rooms = rooms;
        this.share = share;
        this.peer = peer;
        this.reduce = reduce;
        this.attempt = attempt;
        this.length = length;
        ask(0);
    }

    /** What ended the stream, as far as it was the connection or the node; null when nothing did. */
    IOException failure() {
        return failure;
    }

    /** 0 when the node could not read the segment, -1 otherwise. */
    int failedRange() {
        return failedRange;
    }

    private void ask(int room) throws IOException {
        int bytes = (int) Math.min(Rooms.BYTES, length - asked);
        coming = null;
        if (bytes > 0) {
            landing = rooms.take(room, bytes);
            comingRoom = room;
            coming = share.client().send(peer, Wire.LOAD, reduce, List.of(new Wire.Range(attempt, asked, bytes)), landing);
            asked += bytes;
        }
    }

    /** False at the end. */
    private boolean fill() throws IOException {
        if (current.hasRemaining()) {
            return true;
        }
        if (coming == null) {
            return false;
        }
        Exchange arrived = coming;
        int room = comingRoom;
        try {
            arrived.awaitBytes(landing.limit(), share.limitNanos());
        } catch (IOException e) {
            failure = e;
            failedRange = arrived.failedRange();
            throw e;
        } finally {
            share.client().end(arrived);
            rooms.leave(room, arrived);
        }
        current = landing.duplicate().rewind();
        ask(1 - room);
        return true;
    }

    @Override
    public int read() throws IOException {
        return fill() ? current.get() & 0xff : -1;
    }

    @Override
    public int read(byte[] array, int offset, int count) throws IOException {
        if (count == 0 || !fill()) {
            return count == 0 ? 0 : -1;
        }
        int take = Math.min(count, current.remaining());
        current.get(array, offset, take);
        return take;
    }

    @Override
    public void close() {
        if (coming != null) {
            share.client().end(coming);
            rooms.leave(comingRoom, coming);
            coming = null;
        }
    }
}
