// SPDX-License-Identifier: Apache-2.0
// Sends the ranges of one request, one behind the other, in pieces.
package org.verbena.hadoop.shuffle;

import java.io.Closeable;
import java.io.EOFException;
import java.io.IOException;
import java.io.RandomAccessFile;
import java.nio.ByteBuffer;
import java.util.List;
import java.util.concurrent.atomic.AtomicBoolean;
import org.apache.hadoop.mapred.MapOutputBridge;
import org.verbena.core.VbnEngine;
import org.verbena.core.VbnPeer;

/**
 * Small segments share a piece, large ones take several. At most {@link #WINDOW} pieces are under way; each occupies memory until
 * the reducer has pulled it ({@link ServerMemory}). step() runs on the server's stage thread only, completions on the engine's.
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
    private RandomAccessFile file;
    private long fileOffset;
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
        if (queued.compareAndSet(false, true) && !server.offer(this::step)) {
            queued.set(false); // closing
        }
    }

    /** Stage thread: reads and sends as much as the window and memory allow. */
    void step() {
        queued.set(false);
        if (ended) {
            return;
        }
        try {
            while (sent < total && mayGoOn()) {
                ServerMemory.Piece piece = allocate();
                if (piece == null) {
                    return;
                }
                fill(piece);
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

    private synchronized boolean mayGoOn() {
        return !failed && underWay < WINDOW;
    }

    private synchronized boolean hasFailed() {
        return failed;
    }

    private void end() {
        ended = true;
        close();
        server.ended();
    }

    /** Reads the next piece and sends it; its memory is given back here or when it is sent. */
    private void fill(ServerMemory.Piece piece) throws IOException {
        ByteBuffer bytes = piece.chunk().buffer().limit(piece.bytes());
        try {
            while (bytes.hasRemaining()) {
                read(bytes);
            }
        } catch (IOException | RuntimeException e) {
            giveBack(piece);
            throw e;
        }
        synchronized (this) {
            underWay++;
        }
        engine.send(peer, Wire.DATA, Wire.header(0, header.request(), sent), new ByteBuffer[] {bytes.flip()}, (error, length) -> {
            synchronized (this) {
                underWay--;
                failed |= error != null; // the peer is lost, or has dropped it
            }
            giveBack(piece);
            resume();
        });
        sent += piece.bytes();
    }

    private void giveBack(ServerMemory.Piece piece) {
        memory.giveBack(peer, piece);
        server.wakeWaiting();
    }

    /** Reads from the current range; goes to the next one behind its end. */
    private void read(ByteBuffer piece) throws IOException {
        Wire.Range range = ranges.get(current);
        if (position == range.length()) {
            close();
            current++;
            position = 0;
            return;
        }
        if (file == null) {
            open(range);
        }
        int end = piece.limit();
        piece.limit((int) Math.min(end, piece.position() + range.length() - position));
        int count = file.getChannel().read(piece, fileOffset + position);
        piece.limit(end);
        if (count <= 0) {
            throw new EOFException("the map output ends " + (range.length() - position) + " bytes too early");
        }
        position += count;
    }

    private void open(Wire.Range range) throws IOException {
        MapOutputBridge.Segment segment = server.find(range.attempt(), header.number());
        if (range.first() > segment.partLength() - range.length()) {
            throw new IOException("bytes " + range.first() + " to " + (range.first() + range.length())
                + " were asked for, the segment has " + segment.partLength());
        }
        file = server.outputs().open(segment, server.user());
        fileOffset = segment.offset() + range.first();
    }

    @Override
    public void close() {
        if (file != null) {
            try {
                file.close();
            } catch (IOException e) {
                JobServer.LOG.debug("closing a map output", e);
            }
            file = null;
        }
    }
}
