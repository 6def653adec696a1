// SPDX-License-Identifier: Apache-2.0
package org.verbena.hadoop.lustre.buffer;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.ClosedChannelException;
import java.nio.channels.FileChannel;
import java.nio.file.Path;
import java.util.ArrayDeque;
import java.util.concurrent.Future;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.verbena.memcached.Stored;

/**
 * A new file whose chunks go to the servers. What they do not take, and pieces that are too small, go to the shared file, so that a
 * writer never waits for a flusher. Nothing is acknowledged before its line is in the record.
 */
final class BufferSink implements Sink {
    private static final Logger LOG = LoggerFactory.getLogger(BufferSink.class);
    /** Chunks on their way. */
    static final int WINDOW = 8;
    /** Chunks that do not ask the servers after one that failed. */
    static final int THROUGH = 32;

    private final Buffer buffer;
    private final FileChannel file;
    private final Path target;
    private final String path;
    private final long inode;
    private final ArrayDeque<Flying> flying = new ArrayDeque<>();
    private final ArrayDeque<ByteBuffer> free = new ArrayDeque<>();
    private ByteBuffer piece;
    /** Of the first byte of the piece. */
    private long offset;
    private int numbers;
    private RecordWriter record;
    private FileChannel copy;
    private int through;
    private boolean plain;

    /** A chunk whose answer has not come, with its bytes. */
    private record Flying(Chunk chunk, ByteBuffer bytes, Future<Stored> stored) {
    }

    BufferSink(Buffer buffer, FileChannel file, Path target, String path) throws IOException {
        this.buffer = buffer;
        this.file = file;
        this.target = target;
        this.path = path;
        inode = Records.inodeOf(target);
        piece = ByteBuffer.allocateDirect(buffer.conf.chunk());
    }

    @Override
    public void write(ByteBuffer bytes) throws IOException {
        while (bytes.hasRemaining()) {
            int part = Math.min(bytes.remaining(), piece.remaining());
            piece.put(bytes.slice(bytes.position(), part));
            bytes.position(bytes.position() + part);
            if (!piece.hasRemaining()) {
                send();
            }
        }
    }

    private void send() throws IOException {
        piece.flip();
        int length = piece.remaining();
        if (length >= buffer.conf.least() && mayStore()) {
            store(length);
        } else if (length > 0) {
            settleAll(); // bytes become visible in their order
            writeThrough(piece, offset);
            piece.clear();
        } else {
            piece.clear();
        }
        offset += length;
    }

    private boolean mayStore() throws IOException {
        if (plain || through > 0) {
            through -= plain ? 0 : 1;
            return false;
        }
        if (record == null) {
            record = RecordWriter.begin(buffer.records, target, inode, path, buffer.steps);
            plain = record == null;
            if (plain) {
                LOG.info("Verbena: {} goes to the shared directory, without the burst buffer: it cannot be linked", path);
                return false;
            }
            buffer.begun(record);
        }
        return buffer.conf.fault() == Fault.ASYNC || copies();
    }

    /** Whether this host has a copy of the piece; one that no disk takes goes to the shared file. */
    private boolean copies() throws IOException {
        try {
            if (copy == null) {
                copy = buffer.local.create(inode, record.id);
            }
            writeAll(copy, piece.duplicate(), offset);
            buffer.steps.at("chunk copied");
            return true;
        } catch (ClosedChannelException e) {
            throw e; // the thread was interrupted
        } catch (IOException e) {
            LOG.warn("Verbena: {}: bytes from {} on go to the shared directory: verbena.lustre.buffer.local ({}) takes no copy of "
                + "them: {}; make room there, and give it mode 1777", path, offset, buffer.conf.local(), e.toString());
            through = THROUGH;
            return false;
        }
    }

    private void store(int length) throws IOException {
        Chunk chunk = new Chunk(numbers++, offset, length, Chunk.crcOf(piece));
        flying.add(new Flying(chunk, piece, buffer.store.put(record.id, chunk, piece)));
        piece = free.isEmpty() ? ByteBuffer.allocateDirect(buffer.conf.chunk()) : free.poll();
        piece.clear();
        while (flying.size() >= WINDOW) {
            settleOldest();
        }
    }

    private void settleOldest() throws IOException {
        Flying oldest = flying.poll();
        try {
            ChunkStore.wait(oldest.stored);
            buffer.steps.at("chunk stored");
            record.add(oldest.chunk);
        } catch (IOException e) {
            if (ChunkStore.isWrong(e)) {
                throw e;
            }
            LOG.warn("Verbena: {}: {} and those after it go to the shared directory: {}", path, oldest.chunk, e.getMessage());
            through = THROUGH;
            writeThrough(oldest.bytes, oldest.chunk.offset());
        }
        free.add(oldest.bytes);
    }

    private void settleAll() throws IOException {
        while (!flying.isEmpty()) {
            settleOldest();
        }
    }

    private void writeThrough(ByteBuffer bytes, long at) throws IOException {
        writeAll(file, bytes.duplicate(), at);
        buffer.steps.at("piece written through");
    }

    private static void writeAll(FileChannel to, ByteBuffer bytes, long at) throws IOException {
        for (long next = at; bytes.hasRemaining();) {
            next += to.write(bytes, next);
        }
    }

    @Override
    public void flush() throws IOException {
        if (buffer.conf.fault() == Fault.SYNC) {
            force();
        } else {
            acknowledge();
        }
    }

    private void acknowledge() throws IOException {
        send();
        settleAll();
        if (record != null) {
            record.acknowledge();
        }
    }

    @Override
    public void force() throws IOException {
        acknowledge();
        file.force(true);
        if (record != null) {
            buffer.settle(inode, true);
            record.acknowledge();
        }
    }

    @Override
    public boolean close() throws IOException {
        send();
        settleAll();
        boolean sync = buffer.conf.fault() == Fault.SYNC;
        if (sync) {
            file.force(true);
        }
        file.close();
        if (record == null) {
            return true;
        }
        buffer.ended(record);
        if (copy != null) {
            copy.close();
        }
        record.close(offset);
        if (sync) {
            buffer.settle(inode, false);
        }
        return false;
    }

    @Override
    public void abandon() throws IOException {
        file.close();
        if (record != null) {
            buffer.ended(record);
            record.abandon();
        }
        if (copy != null) {
            copy.close();
        }
    }
}
