// SPDX-License-Identifier: Apache-2.0
// Merges groups of kept map outputs while maps still run.
package org.verbena.hadoop.shuffle;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.List;
import org.apache.hadoop.io.DataInputBuffer;
import org.apache.hadoop.io.DataOutputBuffer;
import org.apache.hadoop.io.WritableUtils;
import org.apache.hadoop.mapred.IFile;
import org.apache.hadoop.mapred.RawKeyValueIterator;
import org.apache.hadoop.mapreduce.task.reduce.ExceptionReporter;

/** One thread, which belongs to the one who made this. */
final class EarlyMerge<K, V> implements AutoCloseable {
    /** Bytes of the two lengths that end a segment. */
    static final int END_BYTES = 2;

    private final MemoryMerge<K, V> merge;
    private final ExceptionReporter errors;
    private final Thread thread = new Thread(this::run, "verbena-merge");
    private boolean woken; // guarded by this
    private boolean ended; // guarded by this

    /** errors: told when records cannot be merged; this reduce attempt ends then. */
    EarlyMerge(MemoryMerge<K, V> merge, ExceptionReporter errors) {
        this.merge = merge;
        this.errors = errors;
        thread.setDaemon(true);
        thread.start();
    }

    /** One more map output is kept. */
    synchronized void wake() {
        woken = true;
        notifyAll();
    }

    private synchronized boolean isWoken() throws InterruptedException {
        while (!woken && !ended) {
            wait();
        }
        woken = false;
        return !ended;
    }

    private synchronized boolean hasEnded() {
        return ended;
    }

    private void run() {
        try {
            while (isWoken()) {
                while (!hasEnded() && merge.mergeGroup()) {
                    continue; // each turn merges one group
                }
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        } catch (IOException | RuntimeException | Error e) { // comparators throw what they like
            errors.reportException(e);
        }
    }

    /** How long the merged segment of a group is. */
    static long length(List<? extends KeptOutput<?, ?>> group) {
        return group.stream().mapToLong(output -> output.records().limit() - END_BYTES).sum() + END_BYTES;
    }

    /** Writes a segment, without a checksum. */
    static void write(RawKeyValueIterator records, ByteBuffer room) throws IOException {
        DataOutputBuffer lengths = new DataOutputBuffer();
        while (records.next()) {
            DataInputBuffer key = records.getKey();
            DataInputBuffer value = records.getValue();
            put(lengths, key.getLength() - key.getPosition(), value.getLength() - value.getPosition(), room);
            room.put(key.getData(), key.getPosition(), key.getLength() - key.getPosition());
            room.put(value.getData(), value.getPosition(), value.getLength() - value.getPosition());
        }
        put(lengths, IFile.EOF_MARKER, IFile.EOF_MARKER, room);
        if (room.hasRemaining()) {
            throw new IOException("merged segments lack " + room.remaining() + " of " + room.limit() + " bytes");
        }
    }

    private static void put(DataOutputBuffer lengths, int key, int value, ByteBuffer room) throws IOException {
        lengths.reset();
        WritableUtils.writeVInt(lengths, key);
        WritableUtils.writeVInt(lengths, value);
        room.put(lengths.getData(), 0, lengths.getLength());
    }

    /** Waits for the group that is being merged. */
    @Override
    public void close() {
        synchronized (this) {
            ended = true;
            notifyAll();
        }
        boolean interrupted = false;
        while (thread.isAlive()) {
            try {
                thread.join();
            } catch (InterruptedException e) {
                interrupted = true;
            }
        }
        if (interrupted) {
            Thread.currentThread().interrupt();
        }
    }
}
