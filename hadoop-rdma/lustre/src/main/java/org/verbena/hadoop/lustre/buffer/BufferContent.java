// SPDX-License-Identifier: Apache-2.0
package org.verbena.hadoop.lustre.buffer;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.Future;
import org.verbena.memcached.MemcachedException;
import org.verbena.memcached.Value;

/**
 * A file that was in the buffer when it was opened. Chunks come from the servers, the next ones ahead of the reader; those that a
 * flusher has written meanwhile, and bytes between chunks, come from the shared file.
 */
final class BufferContent implements Content {
    private static final int AHEAD = 4;

    private final Buffer buffer;
    private final FileChannel file;
    private final long inode;
    private final String path;
    private final Map<Integer, Future<Value>> coming = new HashMap<>();
    private Record record;
    /** The record has gone: a flusher has written the file, or dropped it because it was deleted. */
    private boolean gone;
    private int done;
    private int current = -1;
    private ByteBuffer bytes;

    BufferContent(Buffer buffer, FileChannel file, long inode, Records.Found found, String path) throws IOException {
        this.buffer = buffer;
        this.file = file;
        this.inode = inode;
        this.path = path;
        record = found.record();
        done = buffer.records.doneOf(inode);
    }

    @Override
    public synchronized int read(ByteBuffer target, long from) throws IOException {
        if (!gone && from >= sizeNow()) {
            refresh();
        }
        int index = record.find(from);
        if (index >= done && fetch(index)) {
            ByteBuffer rest = bytes.duplicate().position((int) (from - record.chunks().get(index).offset()));
            int length = Math.min(rest.remaining(), target.remaining());
            target.put(rest.slice(rest.position(), length));
            return length;
        }
        return readFile(target, from);
    }

    /** Not beyond the next chunk that the file does not have. */
    private int readFile(ByteBuffer target, long from) throws IOException {
        int index = record.find(from);
        int next = Math.max(done, index < 0 ? -1 - index : index);
        long most = next < record.chunks().size() ? record.chunks().get(next).offset() - from : Long.MAX_VALUE;
        ByteBuffer part = target.duplicate();
        part.limit(part.position() + (int) Math.min(most, part.remaining()));
        int length = file.read(part, from);
        target.position(part.position());
        return length;
    }

    /** False: the shared file has it by now. */
    private boolean fetch(int index) throws IOException {
        if (index == current) {
            return true;
        }
        if (gone) {
            bytes = verified(record.chunks().get(index));
            current = index;
            return true;
        }
        Chunk chunk = record.chunks().get(index);
        IOException failure = null;
        ByteBuffer came = null;
        try {
            Future<Value> asked = coming.remove(index);
            Value value = ChunkStore.wait(asked != null ? asked : buffer.store.get(record.id(), chunk));
            came = value == null ? null : ByteBuffer.wrap(value.bytes());
        } catch (MemcachedException e) {
            failure = e;
        }
        if (came == null || !chunk.isOf(came)) {
            refresh();
            if (gone || index < done) {
                return !(index < done) && fetch(index);
            }
            came = buffer.local.read(inode, record.id(), chunk);
        }
        if (came == null) {
            throw new IOException(path + ": " + chunk + " is lost: " + (failure == null ? "its memcached server has it no more"
                : "its memcached server does not answer") + ", and this host has no copy; if the host of its writer has one, its "
                + "flusher sends it again; else write the file again", failure);
        }
        bytes = came;
        ahead(index);
        current = index;
        return true;
    }

    /** A chunk of the shared file: one that was dropped is a hole there, which nobody may take for its bytes. */
    private ByteBuffer verified(Chunk chunk) throws IOException {
        ByteBuffer read = ByteBuffer.allocate(chunk.length());
        for (int length = 0; read.hasRemaining() && length >= 0;) {
            length = file.read(read, chunk.offset() + read.position());
        }
        if (!chunk.isOf(read.flip())) {
            throw new IOException(path + " was deleted or cut while it was read, and " + chunk
                + " is gone: open it again if it is there");
        }
        return read;
    }

    /** Asks for chunks that a reader in order needs next. */
    private void ahead(int index) throws IOException {
        coming.keySet().removeIf(other -> other < index || other > index + AHEAD);
        if (index != current + 1) {
            return;
        }
        for (int next = index + 1; next <= index + AHEAD && next < record.chunks().size(); next++) {
            if (!coming.containsKey(next)) {
                coming.put(next, buffer.store.get(record.id(), record.chunks().get(next)));
            }
        }
    }

    private void refresh() throws IOException {
        Records.Found found = buffer.records.find(inode);
        if (found == null || !found.record().id().equals(record.id())) {
            gone = true;
            coming.clear();
            return;
        }
        record = found.record();
        done = buffer.records.doneOf(inode);
    }

    private long sizeNow() throws IOException {
        return Math.max(file.size(), Math.max(record.end(), record.length()));
    }

    @Override
    public synchronized long size() throws IOException {
        if (!gone && record.length() < 0) {
            refresh(); // it had a writer
        }
        return gone ? file.size() : sizeNow();
    }

    @Override
    public boolean isOpen() {
        return file.isOpen();
    }

    @Override
    public void close() throws IOException {
        file.close();
    }
}
