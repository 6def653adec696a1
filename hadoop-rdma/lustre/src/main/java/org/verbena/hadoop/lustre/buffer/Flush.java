// SPDX-License-Identifier: Apache-2.0
package org.verbena.hadoop.lustre.buffer;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.nio.file.attribute.FileTime;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.concurrent.Future;
import org.verbena.memcached.MemcachedException;
import org.verbena.memcached.Value;

/**
 * Writes the chunks of one file to the shared directory, in batches: bytes, fsync, the mark in .done, and only then the end of the
 * items. After the last one the file gets its time, and the record goes (invariant R1). It may be killed after each step; who comes
 * next begins behind the mark. A deleted file is dropped: nothing makes its name again, since bytes go to the inode.
 */
final class Flush {
    private static final int BATCH = 64;

    private final Buffer buffer;
    private final Records records;
    private final long inode;
    private final Claim claim;
    private Records.Found found;

    /** The caller has the claim. */
    Flush(Buffer buffer, long inode, Claim claim) {
        this.buffer = buffer;
        this.inode = inode;
        this.claim = claim;
        records = buffer.records;
    }

    /**
     * Flushes what the record says.
     *
     * @throws IOException when chunks are lost, or servers do not answer; the others of their batch are written
     */
    void run() throws IOException {
        found = records.find(inode);
        if (found == null) {
            records.expectRoot();
            found = records.find(inode); // which was not found while the root was away, perhaps
        }
        if (found == null) {
            sweep();
            return;
        }
        int links = linksOfData();
        if (links < 2) {
            if (!found.isOpen()) {
                drop();
            }
            return;
        }
        write();
        if (!found.isOpen()) {
            finish();
        }
    }

    private int linksOfData() throws IOException {
        try {
            return Records.linksOf(records.data(inode));
        } catch (NoSuchFileException e) {
            return 0; // its writer died before the link
        }
    }

    private void write() throws IOException {
        Record record = found.record();
        int from = records.doneOf(inode);
        deleteBefore(record, from);
        if (from >= record.chunks().size()) {
            return;
        }
        try (FileChannel to = FileChannel.open(records.data(inode), StandardOpenOption.WRITE)) {
            for (; from < record.chunks().size(); from += BATCH) {
                if (!claim.keep()) {
                    throw new IOException("another process flushes " + record.path());
                }
                List<Chunk> batch = record.chunks().subList(from, Math.min(from + BATCH, record.chunks().size()));
                write(record, batch, to);
                to.force(true);
                buffer.steps.at("batch forced");
                mark(from + batch.size());
                buffer.store.delete(record.id(), batch.get(0).number(), batch.get(batch.size() - 1).number() + 1);
                buffer.steps.at("items deleted");
            }
        }
    }

    /** A flusher that died behind its mark has left items. */
    private void deleteBefore(Record record, int done) throws IOException {
        List<Chunk> chunks = record.chunks().subList(Math.max(0, done - BATCH), done);
        if (!chunks.isEmpty()) {
            buffer.store.delete(record.id(), chunks.get(0).number(), chunks.get(chunks.size() - 1).number() + 1);
        }
    }

    private void write(Record record, List<Chunk> batch, FileChannel to) throws IOException {
        List<Chunk> lost = new ArrayList<>();
        IOException failure = null;
        List<Future<Value>> asked = new ArrayList<>();
        for (int i = 0; i < batch.size(); i++) {
            while (asked.size() < Math.min(batch.size(), i + BufferSink.WINDOW)) {
                asked.add(buffer.store.get(record.id(), batch.get(asked.size())));
            }
            Chunk chunk = batch.get(i);
            ByteBuffer bytes = null;
            try {
                Value value = ChunkStore.wait(asked.set(i, null));
                bytes = value == null ? null : ByteBuffer.wrap(value.bytes());
            } catch (MemcachedException e) {
                failure = e;
            }
            bytes = bytes != null && chunk.isOf(bytes) ? bytes : buffer.local.read(inode, record.id(), chunk);
            if (bytes == null) {
                lost.add(chunk);
                continue;
            }
            for (long at = chunk.offset(); bytes.hasRemaining();) {
                at += to.write(bytes, at);
            }
            buffer.steps.at("chunk written");
        }
        if (!lost.isEmpty()) {
            throw new LostException(record.path(), lost, failure);
        }
    }

    private void mark(int chunks) throws IOException {
        try (FileChannel done = FileChannel.open(records.done(inode),
            Set.of(StandardOpenOption.CREATE, StandardOpenOption.WRITE, StandardOpenOption.APPEND))) {
            done.write(ByteBuffer.wrap((chunks + "\n").getBytes(java.nio.charset.StandardCharsets.US_ASCII)));
            done.force(true); // before the items go
        }
        buffer.steps.at("batch marked");
    }

    private void finish() throws IOException {
        Record record = found.record();
        Path data = records.data(inode);
        long size = Files.size(data);
        if (size < Math.max(record.length(), record.end())) {
            throw new IOException(record.path() + " has " + size + " bytes on the shared directory, and " + record.length()
                + " were written: the shared file system has lost some; look at its quotas and free space");
        }
        if (record.modified() >= 0) {
            Files.setLastModifiedTime(data, FileTime.fromMillis(record.modified()));
            buffer.steps.at("time set");
        }
        end(record);
    }

    /** Without its bytes. */
    private void drop() throws IOException {
        end(found.record());
    }

    private void end(Record record) throws IOException {
        List<Chunk> chunks = record.chunks();
        int done = Math.max(0, records.doneOf(inode) - BATCH);
        int first = done < chunks.size() ? chunks.get(done).number() : 0;
        int last = chunks.isEmpty() ? 0 : chunks.get(chunks.size() - 1).number() + 1;
        buffer.store.delete(record.id(), first, last + 2 * BufferSink.WINDOW); // with those that their writer has not recorded
        buffer.steps.at("rest deleted");
        Files.deleteIfExists(found.isOpen() ? records.open(inode) : records.closed(inode));
        buffer.steps.at("record deleted");
        sweep();
    }

    /** What is left of a file whose record has gone. */
    private void sweep() throws IOException {
        Files.deleteIfExists(records.done(inode));
        buffer.steps.at("mark deleted");
        Files.deleteIfExists(records.data(inode));
        buffer.steps.at("data unlinked");
    }
}
