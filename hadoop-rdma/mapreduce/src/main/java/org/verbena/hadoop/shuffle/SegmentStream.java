// SPDX-License-Identifier: Apache-2.0
// Sends the ranges of one request, one behind the other, in pieces.
package org.verbena.hadoop.shuffle;

import java.io.Closeable;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.List;
import java.util.concurrent.atomic.AtomicBoolean;
import org.apache.hadoop.mapred.MapOutputBridge;
import org.verbena.core.VbnEngine;
import org.verbena.core.VbnPeer;

/**
 * Small segments share a piece, large ones take several. At most {@link #WINDOW} pieces are under way; each occupies memory until
 * the reducer has pulled it ({@link ServerMemory}). step() runs on the thread of the folder in which the current range
 * lies, and goes on at another one for a range that lies elsewhere; completions run on the engine's.
 */
final class SegmentStream implements Closeable {
    private static final int WINDOW = 4;

    private final JobServer server;
    private final VbnEngine engine;
    private final ServerMemory memory;
    private final VbnPeer peer;
    private final Wire.Header header;
    private final List<Wire.Range> ranges;
    private final long total;
    private final AtomicBoolean queued = new AtomicBoolean();
    private int current;
    private long position;
    private long sent;
    private OpenRange open;
    private ServerMemory.Piece filling;
    private ByteBuffer room;
    /** Where step() has to run. */
    private volatile String folder = "";
    private boolean ended;
    private int underWay; // guarded by this
    private boolean failed; // guarded by this

    SegmentStream(JobServer server, VbnEngine engine, ServerMemory memory, VbnPeer peer, Wire.Header header,
            List<Wire.Range> ranges) {
        this.server = server;
        this.engine = engine;
        this.memory = memory;
        this.peer = peer;
        this.header = header;
        this.ranges = ranges;
        this.total = ranges.stream().mapToLong(Wire.Range::length).sum();
    }

    /** Goes on with the request; any thread. */
    void resume() {
        String at = folder;
        if (queued.compareAndSet(false, true) && !server.readers().offer(at, () -> step(at))) {
            queued.set(false); // closing
        }
    }

    /** Reads and sends as much as the window and memory allow. at: the folder whose thread runs it. */
    private void step(String at) {
        queued.set(false);
        if (ended) {
            return;
        }
        if (!at.equals(folder)) {
            resume(); // was called before the stream went on elsewhere
            return;
        }
        try {
            while (sent < total && mayGoOn()) {
                if (!isAtFolder()) {
                    return;
                }
                if (!hasRoom()) {
                    return;
                }
                fill();
                if (!room.hasRemaining()) {
                    send();
                }
            }
        } catch (IOException | RuntimeException e) {
            server.fail(peer, header.request(), current, ranges.get(current).attempt() + ": " + e.getMessage());
            JobServer.LOG.warn("{} of reducer {} cannot be served: {}", ranges.get(current).attempt(), header.number(),
                e.toString());
            end();
            return;
        }
        if (sent == total || hasFailed()) {
            end();
        }
    }

    /** Null when this stream has to wait: then it is resumed when memory comes back. */
    private ServerMemory.Piece allocate() throws IOException {
        int bytes = (int) Math.min(Wire.PIECE, total - sent);
        ServerMemory.Piece piece = memory.take(peer, bytes);
        if (piece == null) {
            server.await(this);
            piece = memory.take(peer, bytes); // some may have come back before this stream was among those that wait
        }
        return piece;
    }

    private boolean hasRoom() throws IOException {
        if (filling == null) {
            filling = allocate();
            room = filling == null ? null : filling.chunk().buffer().limit(filling.bytes());
        }
        return filling != null;
    }

    private synchronized boolean mayGoOn() {
        return !failed && underWay < WINDOW;
    }

    private synchronized boolean hasFailed() {
        return failed;
    }

    private void end() {
        ended = true;
        close();
        if (filling != null) {
            giveBack(filling);
            filling = null;
        }
        server.ended();
    }

    /**
     * Whether the next bytes lie in this thread's folder. If not, the stream goes on at that one's thread: at once, so nothing of
     * it is touched here afterwards. It holds no memory there while it waits behind others.
     */
    private boolean isAtFolder() throws IOException {
        while (position == ranges.get(current).length()) {
            close();
            current++;
            position = 0;
        }
        if (open != null) {
            return true;
        }
        String there = server.folder(ranges.get(current).attempt());
        if (there.equals(folder)) {
            return true;
        }
        if (filling != null && server.readers().isBusy(there)) {
            leaveMemory();
        }
        folder = there; // from now on a completion may start that thread
        resume();
        return false;
    }

    /** Sends what the piece has so far; without anything it is given back. */
    private void leaveMemory() {
        if (room.position() > 0) {
            send();
        } else {
            giveBack(filling);
            filling = null;
        }
    }

    /** Reads of the current range as much as the piece takes. */
    private void fill() throws IOException {
        Wire.Range range = ranges.get(current);
        if (open == null) {
            open = new OpenRange(server.outputs(), find(range), server.user(), range.first(), range.length());
        }
        open.read(room);
        position = open.position();
    }

    /** Its memory is given back when it has been pulled, or never will be. */
    private void send() {
        int bytes = room.position();
        ServerMemory.Piece piece = filling;
        filling = null;
        synchronized (this) {
            underWay++;
        }
        engine.send(peer, Wire.DATA, Wire.header(0, header.request(), sent), new ByteBuffer[] {room.flip()}, (error, length) -> {
            synchronized (this) {
                underWay--;
                failed |= error != null; // the peer is lost, or has dropped it
            }
            giveBack(piece);
            resume();
        });
        sent += bytes;
    }

    private void giveBack(ServerMemory.Piece piece) {
        memory.giveBack(peer, piece);
        server.wakeWaiting();
    }

    private MapOutputBridge.Segment find(Wire.Range range) throws IOException {
        MapOutputBridge.Segment found = server.find(range.attempt(), header.number());
        if (range.first() > found.partLength() - range.length()) {
            throw new IOException("bytes " + range.first() + " to " + (range.first() + range.length())
                + " were asked for, the segment has " + found.partLength());
        }
        return found;
    }

    @Override
    public void close() {
        if (open != null) {
            open.close();
            open = null;
        }
    }
}
