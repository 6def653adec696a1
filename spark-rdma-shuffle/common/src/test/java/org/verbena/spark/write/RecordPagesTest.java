// SPDX-License-Identifier: Apache-2.0
// Sorting by partition on Spark's own memory manager: order, spilling on demand, memory given back.
package org.verbena.spark.write;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.util.Map;
import java.util.Random;
import java.util.TreeMap;
import org.apache.spark.SparkConf;
import org.apache.spark.memory.MemoryConsumer;
import org.apache.spark.memory.MemoryMode;
import org.apache.spark.memory.TaskMemoryManager;
import org.apache.spark.memory.UnifiedMemoryManager;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(60)
class RecordPagesTest {
    private static final int PARTITIONS = 100_000;

    private final Map<Integer, ByteArrayOutputStream> wanted = new TreeMap<>();
    private final Map<Integer, ByteArrayOutputStream> written = new TreeMap<>();
    private final RecordPages.Sink sink = new RecordPages.Sink();
    private final Random random = new Random(1);
    private int opened;
    private int last;
    private int spills;

    private final RecordPages.Outlet outlet = new RecordPages.Outlet() {
        @Override
        public OutputStream open(int partition) {
            opened++;
            assertTrue(partition > last, "partitions in order");
            last = partition;
            return written.computeIfAbsent(partition, p -> new ByteArrayOutputStream());
        }

        @Override
        public void spilling(long bytes) {
            assertTrue(bytes > 0);
            spills++;
            last = -1;
        }
    };

    /** Another consumer of the same task, which never gives anything back. */
    private static final class Greedy extends MemoryConsumer {
        Greedy(TaskMemoryManager memory) {
            super(memory, MemoryMode.ON_HEAP);
        }

        @Override
        public long spill(long size, MemoryConsumer trigger) {
            return 0;
        }
    }

    private static TaskMemoryManager memory(long bytes) {
        return new TaskMemoryManager(new UnifiedMemoryManager(new SparkConf(false), bytes, 0, 1), 0);
    }

    private void add(RecordPages pages, int partition, int size) throws IOException {
        byte[] record = new byte[size];
        random.nextBytes(record);
        sink.begin(pages, partition);
        sink.write(record, 0, size);
        wanted.computeIfAbsent(partition, p -> new ByteArrayOutputStream()).write(record, 0, size);
        last = spills == 0 ? last : -1; // a record by itself may go to any partition
        pages.add(partition, sink);
    }

    private void assertSame() {
        assertEquals(wanted.keySet(), written.keySet());
        wanted.forEach((partition, bytes) ->
            assertArrayEquals(bytes.toByteArray(), written.get(partition).toByteArray(), "partition " + partition));
    }

    private void empty(RecordPages pages) throws IOException {
        last = -1;
        pages.empty();
        assertEquals(0, pages.getUsed());
    }

    @Test
    void recordsLeaveByPartitionAndWithinOneInTheOrderOfArrivalWithOneOpeningPerPartition() throws IOException {
        TaskMemoryManager memory = memory(64 << 20);
        RecordPages pages = new RecordPages(memory, PARTITIONS, outlet);
        for (int i = 0; i < 50_000; i++) {
            add(pages, random.nextInt(PARTITIONS), random.nextInt(100));
        }
        add(pages, PARTITIONS - 1, 3 << 20);
        add(pages, 0, 0);
        assertEquals(memory.getMemoryConsumptionForThisTask(), pages.getUsed());
        empty(pages);
        assertSame();
        assertEquals(wanted.size(), opened);
        assertEquals(0, spills);
        assertTrue(pages.peak() > 3 << 20);
        assertEquals(0, memory.getMemoryConsumptionForThisTask());
    }

    @Test
    void withLittleMemoryRecordsAreWrittenSeveralTimesAndNoneIsLost() throws IOException {
        TaskMemoryManager memory = memory(512 << 10);
        RecordPages pages = new RecordPages(memory, PARTITIONS, outlet);
        for (int i = 0; i < 30_000; i++) {
            add(pages, random.nextInt(PARTITIONS), random.nextInt(100));
        }
        assertTrue(spills > 2, "spilled " + spills);
        assertTrue(pages.peak() <= 512 << 10);
        empty(pages);
        assertSame();
        assertEquals(0, memory.getMemoryConsumptionForThisTask());
    }

    @Test
    void anotherConsumerOfTheTaskGetsTheMemoryOfRecordsThatAreThenWritten() throws IOException {
        TaskMemoryManager memory = memory(8 << 20);
        RecordPages pages = new RecordPages(memory, PARTITIONS, outlet);
        while (pages.getUsed() < 5 << 20) {
            add(pages, random.nextInt(PARTITIONS), 200);
        }
        assertEquals(0, spills);
        assertEquals(6 << 20, new Greedy(memory).acquireMemory(6 << 20));
        assertEquals(1, spills);
        assertEquals(0, pages.getUsed());
        assertSame();
        for (int i = 0; i < 100; i++) {
            add(pages, i, 50);
        }
        empty(pages);
        assertSame();
    }

    /** Small records: the memory of their positions is as large as theirs. */
    @Test
    void positionsAreAccountedForAlsoAfterPagesThatMadeWayForThemselves() throws IOException {
        for (int size : new int[] {4, 60, 1000}) {
            TaskMemoryManager memory = memory(1 << 20);
            RecordPages pages = new RecordPages(memory, PARTITIONS, outlet);
            int before = spills;
            for (int i = 0; i < 100_000; i++) {
                last = -1;
                add(pages, i % 5000, size);
                assertTrue(pages.records() <= pages.positions(), pages.records() + " records of " + size + " bytes, positions for "
                    + pages.positions());
            }
            assertTrue(spills > before);
            empty(pages);
            assertEquals(0, memory.getMemoryConsumptionForThisTask());
        }
        assertSame();
    }

    /** Larger than what is sorted: in its partition, between those that came before and after it. */
    @Test
    void aLargeRecordGoesStraightToItsPartition() throws IOException {
        TaskMemoryManager memory = memory(64 << 20);
        RecordPages pages = new RecordPages(memory, PARTITIONS, new RecordPages.Outlet() {
            @Override
            public OutputStream open(int partition) {
                return written.computeIfAbsent(partition, p -> new ByteArrayOutputStream());
            }

            @Override
            public void spilling(long bytes) {
                spills++;
            }
        });
        for (int size : new int[] {100, 20 << 20, 100, 17 << 20, 50}) {
            add(pages, 7, size);
            add(pages, 3, 10);
        }
        assertEquals(2, spills);
        pages.empty();
        assertSame();
        assertEquals(0, memory.getMemoryConsumptionForThisTask());
    }

    @Test
    void aRecordMayBeLargerThanAnArray() throws IOException {
        long[] counted = {0};
        RecordPages pages = new RecordPages(memory(8 << 20), PARTITIONS, new RecordPages.Outlet() {
            @Override
            public OutputStream open(int partition) {
                assertEquals(9, partition);
                return new OutputStream() {
                    @Override
                    public void write(int one) {
                        counted[0]++;
                    }

                    @Override
                    public void write(byte[] from, int offset, int count) {
                        counted[0] += count;
                    }
                };
            }

            @Override
            public void spilling(long bytes) {
                throw new AssertionError("nothing is here");
            }
        });
        byte[] part = new byte[1 << 20];
        sink.begin(pages, 9);
        for (int i = 0; i < 2100; i++) {
            sink.write(part, 0, part.length);
        }
        pages.add(9, sink);
        pages.empty();
        assertEquals(2100L << 20, counted[0]);
    }

    @Test
    void aLargeRecordThatIsNeverWrittenToItsEndIsClosed() throws IOException {
        boolean[] closed = {false};
        RecordPages pages = new RecordPages(memory(8 << 20), PARTITIONS, new RecordPages.Outlet() {
            @Override
            public OutputStream open(int partition) {
                return new ByteArrayOutputStream() {
                    @Override
                    public void close() {
                        closed[0] = true;
                    }
                };
            }

            @Override
            public void spilling(long bytes) {
                throw new AssertionError("nothing is here");
            }
        });
        sink.begin(pages, 9);
        sink.write(new byte[20 << 20]);
        assertEquals(0, pages.spill(1, null), "while a partition is open no other one can be");
        pages.free(); // as the writer does when its task fails
        assertTrue(closed[0]);
    }

    @Test
    void whenOthersHoldAllMemoryEachRecordIsWrittenByItself() throws IOException {
        TaskMemoryManager memory = memory(1 << 20);
        assertEquals(1 << 20, new Greedy(memory).acquireMemory(1 << 20));
        RecordPages pages = new RecordPages(memory, PARTITIONS, outlet);
        for (int i = 0; i < 100; i++) {
            last = -1;
            add(pages, random.nextInt(10), random.nextInt(100));
        }
        assertEquals(100, opened);
        empty(pages);
        assertSame();
    }
}
