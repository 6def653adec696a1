// SPDX-License-Identifier: Apache-2.0
// Keeps map outputs outside the heap until the reduce function reads them; what does not fit goes the stock way.
package org.verbena.hadoop.shuffle;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.LocalFileSystem;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.io.RawComparator;
import org.apache.hadoop.io.compress.CompressionCodec;
import org.apache.hadoop.mapred.Counters;
import org.apache.hadoop.mapred.JobConf;
import org.apache.hadoop.mapred.Merger;
import org.apache.hadoop.mapred.RawKeyValueIterator;
import org.apache.hadoop.mapred.ShuffleConsumerPlugin;
import org.apache.hadoop.mapreduce.TaskAttemptID;
import org.apache.hadoop.mapreduce.task.reduce.ExceptionReporter;
import org.apache.hadoop.mapreduce.task.reduce.MapOutput;
import org.apache.hadoop.mapreduce.task.reduce.MergeManager;

/**
 * Stock spills what it has in memory before it calls the reduce function, so that every record is written and read once
 * more. Here the segments stay, and one merge feeds the reduce function from them and from what stock has merged. Thread
 * safe.
 */
final class MemoryMerge<K, V> implements MergeManager<K, V> {
    private final ShuffleConsumerPlugin.Context<K, V> context;
    private final MergeManager<K, V> stock;
    private final MemoryBudget budget;
    private final ShuffleCounters counters;
    private final List<KeptOutput<K, V>> kept = new ArrayList<>();
    /** Merged groups: records, as those of a kept segment. */
    private final List<ByteBuffer> merged = new ArrayList<>();
    private MergePlan plan = new MergePlan(0);
    private EarlyMerge<K, V> early;
    private int came;
    private long bytesKept;

    MemoryMerge(ShuffleConsumerPlugin.Context<K, V> context, MergeManager<K, V> stock, MemoryBudget budget,
            ShuffleCounters counters) {
        this.context = context;
        this.stock = stock;
        this.budget = budget;
        this.counters = counters;
    }

    @Override
    public void waitForResource() throws InterruptedException {
        stock.waitForResource();
    }

    /** For the stock fetcher, which does not tell how long the compressed segment is. */
    @Override
    public MapOutput<K, V> reserve(TaskAttemptID map, long rawLength, int fetcher) throws IOException {
        KeptOutput<K, V> output = keep(map, rawLength + KeptOutput.CHECKSUM_BYTES, rawLength);
        return output != null ? output : pass(map, rawLength, fetcher);
    }

    /** A place for a segment outside the heap, where it lies decompressed; null when there is no room. */
    KeptOutput<K, V> keep(TaskAttemptID map, long partLength, long rawLength) {
        long held = codec() == null ? partLength : rawLength;
        boolean fits = held >= 0 && Math.max(held, partLength) <= Integer.MAX_VALUE && budget.take(held);
        return fits ? new KeptOutput<>(map, rawLength, partLength, held, this) : null;
    }

    /** What map outputs are compressed with; null when they are not. */
    CompressionCodec codec() {
        return context.getCodec();
    }

    JobConf conf() {
        return context.getJobConf();
    }

    /** A place for a segment in the stock merge manager; null when the fetcher has to wait for a merge. */
    MapOutput<K, V> pass(TaskAttemptID map, long rawLength, int fetcher) throws IOException {
        MapOutput<K, V> output = stock.reserve(map, rawLength, fetcher);
        if (output != null) {
            counters.passedOn(rawLength);
        }
        return output;
    }

    ByteBuffer allocate(int bytes) {
        return budget.allocate(bytes);
    }

    void giveBack(long bytes) {
        budget.giveBack(bytes);
    }

    /** With memory of {@link #allocate} that nothing uses any more. */
    void giveBack(long bytes, ByteBuffer allocated) {
        budget.giveBack(bytes, allocated);
    }

    synchronized void committed(KeptOutput<K, V> output) {
        kept.add(output);
        came++;
        bytesKept += output.reserved();
        counters.kept(output.reserved());
        if (early != null && kept.size() >= MergePlan.GROUP) {
            early.wake();
        }
    }

    /**
     * Merges groups of what is kept until the result is closed, which is before {@link #close}.
     *
     * @param maps of the job
     * @param errors told when records cannot be merged
     */
    synchronized EarlyMerge<K, V> mergeEarly(int maps, ExceptionReporter errors) {
        plan = new MergePlan(maps);
        early = new EarlyMerge<>(this, errors);
        return early;
    }

    /** Merges one group; for the early merge's thread. False when there is no group, or no memory for it. */
    boolean mergeGroup() throws IOException {
        List<KeptOutput<K, V>> group = takeGroup();
        if (group.isEmpty()) {
            return false;
        }
        ByteBuffer room = budget.allocate((int) EarlyMerge.length(group));
        if (room == null) {
            putBack(group);
            return false;
        }
        MergeHeap heap = new MergeHeap(group.size());
        List<Merger.Segment<K, V>> segments = new ArrayList<>();
        for (KeptOutput<K, V> output : group) {
            segments.add(segment(output.records(), heap, context.getMergedMapOutputsCounter()));
        }
        EarlyMerge.write(merge(segments), room);
        keepMerged(room.flip());
        group.forEach(KeptOutput::forget); // its memory stays counted: it is part of buffers in which others may still arrive
        return true;
    }

    /** The oldest segments, and memory for them is taken; none if the plan does not allow it. */
    private synchronized List<KeptOutput<K, V>> takeGroup() {
        if (kept.size() < MergePlan.GROUP) {
            return List.of();
        }
        List<KeptOutput<K, V>> oldest = kept.subList(0, MergePlan.GROUP);
        long bytes = EarlyMerge.length(oldest);
        if (!plan.allows(came, bytesKept, bytes, budget.limit() - budget.used()) || !budget.take(bytes)) {
            return List.of();
        }
        List<KeptOutput<K, V>> group = List.copyOf(oldest);
        oldest.clear();
        return group;
    }

    private synchronized void putBack(List<KeptOutput<K, V>> group) {
        kept.addAll(0, group);
        plan = new MergePlan(0); // the JVM has less memory than its container
    }

    private synchronized void keepMerged(ByteBuffer records) {
        merged.add(records);
        counters.mergedEarly(MergePlan.GROUP);
    }

    /** All fetchers have ended. */
    @Override
    public RawKeyValueIterator close() throws Throwable {
        RawKeyValueIterator rest = stock.close();
        return kept.isEmpty() && merged.isEmpty() ? rest : mergeWith(rest);
    }

    private RawKeyValueIterator mergeWith(RawKeyValueIterator rest) throws IOException {
        List<Merger.Segment<K, V>> segments = new ArrayList<>();
        MergeHeap heap = new MergeHeap(kept.size() + merged.size());
        for (KeptOutput<K, V> output : kept) {
            segments.add(segment(output.records(), heap, context.getMergedMapOutputsCounter()));
        }
        for (ByteBuffer records : merged) {
            segments.add(segment(records, heap, null)); // its map outputs are counted
        }
        kept.clear(); // each segment's memory goes with its reader
        merged.clear();
        segments.add(new Merger.Segment<>(new RestReader<K, V>(conf(), rest), true));
        return merge(segments);
    }

    private Merger.Segment<K, V> segment(ByteBuffer records, MergeHeap heap, Counters.Counter count) throws IOException {
        return new Merger.Segment<>(new KeptReader<K, V>(conf(), records, heap), true, count);
    }

    @SuppressWarnings("unchecked")
    private RawKeyValueIterator merge(List<Merger.Segment<K, V>> segments) throws IOException {
        JobConf conf = conf();
        FileSystem local = ((LocalFileSystem) context.getLocalFS()).getRaw();
        return Merger.merge(conf, local, (Class<K>) conf.getMapOutputKeyClass(), (Class<V>) conf.getMapOutputValueClass(),
            segments, segments.size(), new Path(context.getReduceId().toString()),
            (RawComparator<K>) conf.getOutputKeyComparator(), context.getReporter(), null, null, null);
    }
}
