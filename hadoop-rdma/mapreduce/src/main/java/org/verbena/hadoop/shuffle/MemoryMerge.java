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
import org.apache.hadoop.mapred.JobConf;
import org.apache.hadoop.mapred.Merger;
import org.apache.hadoop.mapred.RawKeyValueIterator;
import org.apache.hadoop.mapred.ShuffleConsumerPlugin;
import org.apache.hadoop.mapreduce.TaskAttemptID;
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
        counters.kept(output.reserved());
    }

    /** All fetchers have ended. */
    @Override
    public RawKeyValueIterator close() throws Throwable {
        RawKeyValueIterator rest = stock.close();
        return kept.isEmpty() ? rest : merge(rest);
    }

    @SuppressWarnings("unchecked")
    private RawKeyValueIterator merge(RawKeyValueIterator rest) throws IOException {
        JobConf conf = context.getJobConf();
        List<Merger.Segment<K, V>> segments = new ArrayList<>();
        MergeHeap heap = new MergeHeap(kept.size());
        for (KeptOutput<K, V> output : kept) {
            segments.add(new Merger.Segment<>(new KeptReader<K, V>(conf, output.records(), heap), true,
                context.getMergedMapOutputsCounter()));
        }
        kept.clear(); // each segment's memory goes with its reader
        segments.add(new Merger.Segment<>(new RestReader<K, V>(conf, rest), true));
        FileSystem local = ((LocalFileSystem) context.getLocalFS()).getRaw();
        return Merger.merge(conf, local, (Class<K>) conf.getMapOutputKeyClass(), (Class<V>) conf.getMapOutputValueClass(),
            segments, segments.size(), new Path(context.getReduceId().toString()),
            (RawComparator<K>) conf.getOutputKeyComparator(), context.getReporter(), null, null, null);
    }
}
