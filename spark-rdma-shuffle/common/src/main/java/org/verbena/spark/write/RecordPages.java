// SPDX-License-Identifier: Apache-2.0
// Serialised records of one map task in heap pages, which leave sorted by partition.
package org.verbena.spark.write;

import java.io.IOException;
import java.io.OutputStream;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.nio.ByteOrder;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.apache.spark.memory.MemoryConsumer;
import org.apache.spark.memory.MemoryMode;
import org.apache.spark.memory.TaskMemoryManager;
import org.verbena.spark.store.ByteSink;

/**
 * Records lie in the order of arrival, each behind its partition and length. They are sorted by counting: a position for
 * each record, then partition after partition is written. The memory is Spark's: when it has no more, or another
 * consumer of the task needs it, the records are written out and the pages begin anew. Belongs to the task's thread.
 */
final class RecordPages extends MemoryConsumer {
    private static final VarHandle INT = MethodHandles.byteArrayViewVarHandle(int[].class, ByteOrder.nativeOrder());
    private static final int HEADER = 8;
    private static final int FIRST_PAGE = 32 << 10;
    /** Half of the smallest region of G1, which would otherwise give each page regions of its own. */
    private static final int LARGEST_PAGE = 256 << 10;
    /** Positions for which memory is taken at a time. */
    private static final int POSITIONS = 4096;

    private final Outlet outlet;
    private final Thread owner = Thread.currentThread();
    private final List<Page> pages = new ArrayList<>();
    private final int[] counts;
    private int records;
    private int positions;
    private long bytes;
    private long peak;
    /** Whether a partition is open. */
    private boolean emptying;
    /** The partition of a large record, while that is written. */
    private OutputStream large;

    /** Where records go, partition after partition. */
    interface Outlet {
        /** Opens a partition, which may have been open before; closed before the next one. */
        OutputStream open(int partition) throws IOException;

        /** Told before records are written because memory is short; bytes of memory that they took. */
        void spilling(long bytes);
    }

    /** A record's bytes until they are moved to a page; those of a large one go straight to its partition. */
    static final class Sink extends ByteSink {
        private static final int LARGEST = 16 << 20;

        private RecordPages pages;
        private int partition;

        Sink() {
            super(LARGEST);
        }

        /** Where the next record belongs; to be called before it is written. */
        void begin(RecordPages to, int number) {
            pages = to;
            partition = number;
        }

        @Override
        protected void drain(byte[] from, int offset, int count) throws IOException {
            pages.large(partition).write(from, offset, count);
        }

        /** The rest of a large record. */
        private void end() throws IOException {
            drainAll();
        }

        int size() {
            return buffered();
        }

        void take(byte[] to, int offset) {
            moveTo(to, offset);
        }
    }

    private static final class Page {
        private final byte[] memory;
        private int filled;

        Page(int size) {
            memory = new byte[size];
        }
    }

    RecordPages(TaskMemoryManager memory, int partitions, Outlet outlet) {
        super(memory, MemoryMode.ON_HEAP);
        this.counts = new int[partitions];
        this.outlet = outlet;
    }

    /** Takes one record out of a sink, where it {@link Sink#begin began}. */
    void add(int partition, Sink sink) throws IOException {
        if (large != null) {
            sink.end();
            endLarge();
            return;
        }
        int size = sink.size();
        Page page = ready(HEADER + size);
        if (page == null && records > 0) {
            makeWay();
            page = ready(HEADER + size);
        }
        if (page == null) {
            writeAlone(partition, sink, size);
            return;
        }
        INT.set(page.memory, page.filled, partition);
        INT.set(page.memory, page.filled + 4, size);
        sink.take(page.memory, page.filled + HEADER);
        page.filled += HEADER + size;
        bytes += size;
        counts[partition]++;
        records++;
    }

    /** Where a record goes that is too large to be sorted; behind those that are here, one stream at a time. */
    private OutputStream large(int partition) throws IOException {
        if (large == null) {
            if (records > 0) {
                makeWay();
            }
            emptying = true;
            large = outlet.open(partition);
        }
        return large;
    }

    private void endLarge() throws IOException {
        OutputStream ended = large;
        large = null;
        emptying = false;
        ended.close();
    }

    /** Spark gives no memory at all: a record by itself. */
    private void writeAlone(int partition, Sink sink, int size) throws IOException {
        byte[] copy = new byte[size];
        sink.take(copy, 0);
        try (OutputStream out = outlet.open(partition)) {
            out.write(copy, 0, size);
        }
    }

    /** The page where so many bytes fit, with memory for the record's position; null when Spark has none. */
    private Page ready(int size) {
        if (!positioned()) {
            return null;
        }
        Page last = pages.isEmpty() ? null : pages.get(pages.size() - 1);
        if (last != null && last.memory.length - last.filled >= size) {
            return last;
        }
        int usual = Math.min(LARGEST_PAGE, FIRST_PAGE << Math.min(pages.size(), 8)); // small tasks take little
        int wanted = Math.max(size, usual);
        if (!acquired(wanted)) {
            return null;
        }
        Page page = new Page(wanted);
        pages.add(page);
        return positioned() ? page : null; // a spill on the way has given the positions' memory back, too
    }

    /** Whether there is memory for one more position. */
    private boolean positioned() {
        if (records >= positions) {
            if (!acquired(POSITIONS * 8L)) {
                return false;
            }
            positions = records + POSITIONS; // after a spill on the way there are no records
        }
        return true;
    }

    /** Positions whose memory is taken; never less than there are records. */
    int positions() {
        return positions;
    }

    /** Records that are here. */
    int records() {
        return records;
    }

    /** All or nothing. Spark may call {@link #spill} meanwhile. */
    private boolean acquired(long size) {
        long got = acquireMemory(size);
        if (got < size) {
            freeMemory(got);
            return false;
        }
        peak = Math.max(peak, getUsed());
        return true;
    }

    /** Bytes of all records that are here. */
    long bytes() {
        return bytes;
    }

    /** Most bytes of memory so far. */
    long peak() {
        return peak;
    }

    private void makeWay() throws IOException {
        outlet.spilling(getUsed());
        empty();
    }

    @Override
    public long spill(long size, MemoryConsumer trigger) throws IOException {
        if (emptying || records == 0 || Thread.currentThread() != owner) {
            return 0;
        }
        long before = getUsed();
        makeWay();
        return before - getUsed();
    }

    /** Writes all records out and gives the memory back. */
    void empty() throws IOException {
        emptying = true;
        try {
            write(order());
        } finally {
            emptying = false;
            free();
        }
    }

    /** Page and offset of every record, by partition, and by arrival within one. */
    private long[] order() {
        int[] next = new int[counts.length];
        for (int p = 1; p < counts.length; p++) {
            next[p] = next[p - 1] + counts[p - 1];
        }
        long[] order = new long[records];
        for (int i = 0; i < pages.size(); i++) {
            Page page = pages.get(i);
            for (int at = 0; at < page.filled; at += HEADER + (int) INT.get(page.memory, at + 4)) {
                order[next[(int) INT.get(page.memory, at)]++] = (long) i << 32 | at;
            }
        }
        return order;
    }

    private void write(long[] order) throws IOException {
        int at = 0;
        for (int p = 0; p < counts.length; p++) {
            int end = at + counts[p];
            if (at == end) {
                continue;
            }
            try (OutputStream out = outlet.open(p)) {
                for (; at < end; at++) {
                    byte[] page = pages.get((int) (order[at] >>> 32)).memory;
                    int offset = (int) order[at];
                    out.write(page, offset + HEADER, (int) INT.get(page, offset + 4));
                }
            }
        }
    }

    /** Forgets all records, also one that is half written. */
    void free() {
        if (large != null) {
            try {
                endLarge();
            } catch (IOException | RuntimeException e) { // the task has failed before
                large = null;
            }
        }
        pages.clear();
        Arrays.fill(counts, 0);
        records = 0;
        positions = 0;
        bytes = 0;
        freeMemory(getUsed());
    }
}
