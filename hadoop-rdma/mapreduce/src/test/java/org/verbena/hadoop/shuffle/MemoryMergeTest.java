// SPDX-License-Identifier: Apache-2.0
package org.verbena.hadoop.shuffle;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.lang.management.BufferPoolMXBean;
import java.lang.management.ManagementFactory;
import java.lang.reflect.Proxy;
import java.nio.ByteBuffer;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.apache.hadoop.fs.FSDataOutputStream;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.io.DataInputBuffer;
import org.apache.hadoop.io.Text;
import org.apache.hadoop.io.WritableComparator;
import org.apache.hadoop.io.compress.BZip2Codec;
import org.apache.hadoop.io.compress.CompressionCodec;
import org.apache.hadoop.io.compress.DefaultCodec;
import org.apache.hadoop.io.compress.GzipCodec;
import org.apache.hadoop.io.compress.SnappyCodec;
import org.apache.hadoop.mapred.Counters;
import org.apache.hadoop.mapred.IFile;
import org.apache.hadoop.mapred.JobConf;
import org.apache.hadoop.mapred.RawKeyValueIterator;
import org.apache.hadoop.mapred.Reporter;
import org.apache.hadoop.mapred.ShuffleConsumerPlugin;
import org.apache.hadoop.mapreduce.TaskAttemptID;
import org.apache.hadoop.mapreduce.TaskType;
import org.apache.hadoop.mapreduce.task.reduce.MapOutput;
import org.apache.hadoop.mapreduce.task.reduce.MergeManager;
import org.apache.hadoop.util.Progress;
import org.apache.hadoop.util.ReflectionUtils;
import org.junit.jupiter.api.Test;
import org.verbena.core.NativeLibrary;

/** What a reducer with many maps keeps and merges, counted. */
class MemoryMergeTest {
    private static final int MAPS = 2000;
    private static final int RECORDS = 20;
    private static final long BUDGET = 64L << 20;
    /** For the decompressor of the one fetcher here. */
    private static final long ONE_DECOMPRESSOR = 4L << 20;

    private final JobConf conf = new JobConf(false);
    private final MemoryBudget budget = MemoryBudget.of(BUDGET);

    /** Stock's, which has got nothing. */
    private static final class Nothing implements MergeManager<Text, Text> {
        @Override
        public void waitForResource() {
            // there is none to wait for
        }

        @Override
        public MapOutput<Text, Text> reserve(TaskAttemptID map, long size, int fetcher) {
            return null;
        }

        @Override
        public RawKeyValueIterator close() {
            return new RawKeyValueIterator() {
                @Override
                public DataInputBuffer getKey() {
                    return null;
                }

                @Override
                public DataInputBuffer getValue() {
                    return null;
                }

                @Override
                public boolean next() {
                    return false;
                }

                @Override
                public void close() {
                    // nothing is open
                }

                @Override
                public Progress getProgress() {
                    return new Progress();
                }
            };
        }
    }

    private MemoryMerge<Text, Text> merge(CompressionCodec codec) throws IOException {
        conf.setMapOutputKeyClass(Text.class);
        conf.setMapOutputValueClass(Text.class);
        ShuffleConsumerPlugin.Context<Text, Text> context = new ShuffleConsumerPlugin.Context<>(attempt(TaskType.REDUCE, 0), conf,
            FileSystem.getLocal(conf), null, null, Reporter.NULL, codec, null, null, null, null, null, null, null, null, null, null,
            null, null, null, null);
        return new MemoryMerge<>(context, new Nothing(), budget, new ShuffleCounters(counting()));
    }

    private static Reporter counting() {
        Counters counters = new Counters();
        return (Reporter) Proxy.newProxyInstance(Reporter.class.getClassLoader(), new Class<?>[] {Reporter.class},
            (proxy, method, words) -> counters.findCounter((String) words[0], (String) words[1]));
    }

    private CompressionCodec codec(Class<? extends CompressionCodec> type) {
        return type == null ? null : ReflectionUtils.newInstance(type, conf);
    }

    private static TaskAttemptID attempt(TaskType type, int number) {
        return new TaskAttemptID("1", 1, type, number, 0);
    }

    /** A map's output: keys in order, some of them the same in all maps, all in one of them; values of the given length. */
    private record Segment(byte[] bytes, long raw) {
    }

    private Segment segment(int map, CompressionCodec codec, int valueLength) throws IOException {
        ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        IFile.Writer<Text, Text> writer = new IFile.Writer<>(conf, new FSDataOutputStream(bytes, null), Text.class, Text.class,
            codec, null);
        for (int i = 0; i < RECORDS; i++) {
            writer.append(new Text(String.format("key%05d", i * 100 + map % 10)), new Text((map + "-").repeat(valueLength)));
        }
        writer.close();
        return new Segment(bytes.toByteArray(), writer.getRawLength());
    }

    private static ByteBuffer direct(byte[] bytes) {
        return ByteBuffer.allocateDirect(bytes.length).put(bytes).flip();
    }

    private boolean keep(MemoryMerge<Text, Text> merge, int map, Segment segment) throws IOException {
        KeptOutput<Text, Text> output = merge.keep(attempt(TaskType.MAP, map), segment.bytes.length, segment.raw);
        if (output == null) {
            return false;
        }
        if (merge.codec() == null) {
            output.take(direct(segment.bytes));
        } else {
            output.decompress(ByteBuffer.wrap(segment.bytes), merge.allocate((int) segment.raw));
        }
        output.commit();
        return true;
    }

    private static long directBytes() {
        return ManagementFactory.getPlatformMXBeans(BufferPoolMXBean.class).stream().filter(pool -> pool.getName().equals("direct"))
            .mapToLong(BufferPoolMXBean::getMemoryUsed).sum();
    }

    private static byte[] content(DataInputBuffer buffer) {
        return Arrays.copyOfRange(buffer.getData(), buffer.getPosition(), buffer.getLength());
    }

    private static int count(RawKeyValueIterator all) throws IOException {
        int records = 0;
        for (byte[] last = new byte[0]; all.next(); records++) {
            byte[] key = content(all.getKey());
            assertTrue(Arrays.compareUnsigned(last, key) <= 0, "keys come in order");
            assertEquals(content(all.getValue()).length, all.getValue().getLength() - all.getValue().getPosition());
            last = key;
        }
        return records;
    }

    private void mergesManyWithin(Class<? extends CompressionCodec> type) throws Throwable {
        MemoryMerge<Text, Text> merge = merge(codec(type));
        long before = directBytes();
        for (int map = 0; map < MAPS; map++) {
            assertTrue(keep(merge, map, segment(map, merge.codec(), 3)), "map " + map);
        }
        RawKeyValueIterator all = merge.close();
        assertTrue(all.next());
        long most = budget.used() + ONE_DECOMPRESSOR;
        assertTrue(directBytes() - before <= most, directBytes() - before + " bytes, counted are " + most);
        assertEquals(MAPS * RECORDS - 1, count(all));
    }

    @Test
    void two_thousand_segments_are_merged_in_the_memory_that_is_counted() throws Throwable {
        mergesManyWithin(null);
    }

    @Test
    void two_thousand_segments_with_snappy_are_merged_in_the_memory_that_is_counted() throws Throwable {
        mergesManyWithin(SnappyCodec.class);
    }

    @Test
    void the_codecs_that_need_no_native_library_give_the_same_records() throws Throwable {
        for (Class<? extends CompressionCodec> type : List.of(DefaultCodec.class, GzipCodec.class, BZip2Codec.class)) {
            MemoryMerge<Text, Text> merge = merge(codec(type));
            for (int map = 0; map < 10; map++) {
                assertTrue(keep(merge, map, segment(map, merge.codec(), 100)), type + ", map " + map);
            }
            assertEquals(10 * RECORDS, count(merge.close()), type.toString());
        }
    }

    @Test
    void windows_of_all_segments_together_are_bounded() {
        for (int segments : new int[] {1, 10, 1000, 12_000, 100_000}) {
            long all = (long) segments * new MergeHeap(segments).window(Integer.MAX_VALUE);
            assertTrue(all <= MergeHeap.MOST, segments + " segments");
        }
        assertEquals(7, new MergeHeap(1).window(7), "no longer than the segment");
    }

    @Test
    void values_beyond_the_windows_come_as_they_were_written() throws Throwable {
        MemoryMerge<Text, Text> merge = merge(codec(DefaultCodec.class));
        for (int map = 0; map < 20; map++) {
            assertTrue(keep(merge, map, segment(map, merge.codec(), 20_000)));
        }
        RawKeyValueIterator all = merge.close();
        int records = 0;
        for (; all.next(); records++) {
            DataInputBuffer bytes = all.getValue();
            Text value = new Text();
            value.readFields(bytes);
            String text = value.toString();
            assertEquals(text.substring(0, text.indexOf('-') + 1).repeat(20_000), text);
        }
        assertEquals(20 * RECORDS, records);
    }

    @Test
    void a_segment_takes_of_the_budget_what_it_holds_and_gives_it_back() throws Exception {
        CompressionCodec codec = codec(DefaultCodec.class);
        MemoryMerge<Text, Text> merge = merge(codec);
        Segment segment = segment(1, codec, 1000);
        assertTrue(segment.raw > segment.bytes.length);
        KeptOutput<Text, Text> output = merge.keep(attempt(TaskType.MAP, 1), segment.bytes.length, segment.raw);
        assertEquals(segment.raw, budget.used());
        output.abort();
        assertEquals(0, budget.used());
        assertNull(merge.keep(attempt(TaskType.MAP, 1), segment.bytes.length, BUDGET + 1));
        assertNull(merge.keep(attempt(TaskType.MAP, 1), segment.bytes.length, -1));
    }

    @Test
    void the_pages_of_a_segment_that_is_given_up_go_back_at_once() throws Exception {
        NativeLibrary.load();
        MemoryMerge<Text, Text> merge = merge(null);
        byte[] ones = new byte[4 << 20];
        Arrays.fill(ones, (byte) 1);
        KeptOutput<Text, Text> output = merge.keep(attempt(TaskType.MAP, 1), ones.length, ones.length);
        ByteBuffer room = merge.allocate(ones.length);
        output.room(room);
        assertThrows(IOException.class, () -> output.shuffle(null, new ByteArrayInputStream(ones), ones.length, ones.length, null,
            null), "no checksum");
        assertEquals(1, room.get(ones.length / 2));
        output.abort();
        assertEquals(0, budget.used());
        assertEquals(0, room.get(ones.length / 2), "a page that the system has taken back reads as zeros");
    }

    /** A merge with memory for all of its segments twice, whose groups are merged by the test itself. */
    private MemoryMerge<Text, Text> grouping(int maps) throws IOException {
        MemoryMerge<Text, Text> merge = merge(null);
        merge.mergeEarly(maps, MemoryMergeTest::unexpected).close();
        return merge;
    }

    private static void unexpected(Throwable cause) {
        throw new AssertionError(cause);
    }

    @Test
    void groups_that_were_merged_while_maps_ran_give_the_same_records() throws Throwable {
        MemoryMerge<Text, Text> merge = grouping(MAPS);
        int groups = 0;
        for (int map = 0; map < MAPS; map++) {
            assertTrue(keep(merge, map, segment(map, null, map % 5)), "map " + map);
            groups += merge.mergeGroup() ? 1 : 0;
        }
        assertEquals(MAPS / MergePlan.GROUP, groups);
        assertTrue(budget.used() <= BUDGET);
        assertEquals(MAPS * RECORDS, count(merge.close()));
    }

    @Test
    void a_thread_merges_groups_beside_fetchers_and_no_record_is_lost() throws Throwable {
        MemoryMerge<Text, Text> merge = merge(null);
        try (EarlyMerge<Text, Text> early = merge.mergeEarly(MAPS, MemoryMergeTest::unexpected)) {
            for (int map = 0; map < MAPS; map++) {
                assertTrue(keep(merge, map, segment(map, null, 3)), "map " + map);
            }
            early.wake(); // once more than needed
        }
        assertEquals(MAPS * RECORDS, count(merge.close()));
    }

    @Test
    void groups_take_no_memory_that_further_map_outputs_want() throws Exception {
        MemoryMerge<Text, Text> merge = grouping(MAPS);
        Segment segment = segment(1, null, (int) (BUDGET / MAPS / RECORDS / 2)); // all maps together fit, but not twice
        for (int map = 0; map < MergePlan.GROUP; map++) {
            assertTrue(keep(merge, map, segment));
        }
        long used = budget.used();
        assertTrue(used / MergePlan.GROUP * MAPS > BUDGET - used);
        assertFalse(merge.mergeGroup());
        assertEquals(used, budget.used());
    }

    /** A user's comparator that fails. */
    public static final class Failing extends WritableComparator {
        public Failing() {
            super(Text.class);
        }

        @Override
        public int compare(byte[] left, int leftAt, int leftBytes, byte[] right, int rightAt, int rightBytes) {
            throw new IllegalStateException("compares nothing");
        }
    }

    @Test
    void a_comparator_that_fails_ends_the_reducer() throws Exception {
        conf.setOutputKeyComparatorClass(Failing.class);
        MemoryMerge<Text, Text> merge = merge(null);
        CompletableFuture<Throwable> told = new CompletableFuture<>();
        try (EarlyMerge<Text, Text> early = merge.mergeEarly(MAPS, told::complete)) {
            for (int map = 0; map < MergePlan.GROUP; map++) {
                assertTrue(keep(merge, map, segment(map, null, 3)));
            }
            early.wake();
            assertEquals("compares nothing", told.get(5, TimeUnit.MINUTES).getMessage());
        }
    }

    @Test
    void damaged_bytes_and_wrong_lengths_are_refused() throws Exception {
        CompressionCodec codec = codec(DefaultCodec.class);
        MemoryMerge<Text, Text> merge = merge(codec);
        Segment good = segment(1, codec, 3);
        KeptOutput<Text, Text> output = merge.keep(attempt(TaskType.MAP, 1), good.bytes.length, good.raw);
        byte[] bad = good.bytes.clone();
        bad[5] ^= 1;
        ByteBuffer room = ByteBuffer.allocateDirect((int) good.raw);
        assertThrows(IOException.class, () -> output.decompress(ByteBuffer.wrap(bad), room));
        for (int wrong : new int[] {-1, 1}) {
            ByteBuffer other = ByteBuffer.allocate((int) good.raw + wrong);
            assertThrows(IOException.class, () -> output.decompress(ByteBuffer.wrap(good.bytes), other));
        }
        assertThrows(IOException.class, () -> output.decompress(ByteBuffer.wrap(new byte[3]), room));
        output.decompress(ByteBuffer.wrap(good.bytes), room.clear());
        assertEquals(good.raw, output.records().limit());
    }

    @Test
    void a_container_pays_for_heap_collector_and_fetchers_first() {
        long mib = 1 << 20;
        assertEquals("0 MiB", size(MemoryBudget.of(1024 * mib, 820 * mib, 5)));
        assertEquals("1047 MiB", size(MemoryBudget.of(5120 * mib, 3600 * mib, 28)));
        assertEquals("758 MiB", size(MemoryBudget.of(2048 * mib, 1024 * mib, 5)));
    }

    private static String size(MemoryBudget budget) {
        return budget.toString().substring(0, budget.toString().indexOf(" ("));
    }
}
