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
    private static final int WINDOW = 1 << 20;

    private final FetchShare<?, ?> share;
    private final VbnPeer peer;
    private final int reduce;
    private final String attempt;
    private final long length;
    private final ByteBuffer[] rooms = new ByteBuffer[2];
    private Exchange coming;
    private int comingRoom;
    private long asked;
    private ByteBuffer current = ByteBuffer.allocate(0);
    private IOException failure;
    private int failedRange = -1;

    /** @param length bytes of the segment */
    CoreInput(FetchShare<?, ?> share, VbnPeer peer, int reduce, String attempt, long length) throws IOException {
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
        int bytes = (int) Math.min(WINDOW, length - asked);
        coming = null;
        if (bytes > 0) {
            if (rooms[room] == null) {
                rooms[room] = room(bytes);
            }
            comingRoom = room;
            coming = share.client().send(peer, Wire.LOAD, reduce, List.of(new Wire.Range(attempt, asked, bytes)),
                rooms[room].clear().limit(bytes));
            asked += bytes;
        }
    }

    private static ByteBuffer room(int bytes) throws IOException {
        try {
            return ByteBuffer.allocateDirect(bytes);
        } catch (OutOfMemoryError e) {
            throw new IOException("this JVM has no memory for a window (" + e.getMessage() + "): raise -XX:MaxDirectMemorySize", e);
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
            arrived.awaitBytes(rooms[room].limit(), share.limitNanos());
        } catch (IOException e) {
            failure = e;
            failedRange = arrived.failedRange();
            throw e;
        } finally {
            share.client().end(arrived);
        }
        current = rooms[room].duplicate().rewind();
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
            coming = null;
        }
    }
}
