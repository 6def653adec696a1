// SPDX-License-Identifier: Apache-2.0
// For very many partitions: serialises records once, sorts them by partition in memory, copies them to slabs.
package org.verbena.spark.write;

import java.io.IOException;
import java.io.OutputStream;
import java.util.function.Supplier;
import org.apache.spark.Partitioner;
import org.apache.spark.ShuffleDependency;
import org.apache.spark.SparkConf;
import org.apache.spark.executor.TaskMetrics;
import org.apache.spark.io.CompressionCodec$;
import org.apache.spark.scheduler.MapStatus;
import org.apache.spark.serializer.SerializationStream;
import org.apache.spark.serializer.SerializerInstance;
import org.apache.spark.shuffle.ShuffleWriter;
import org.verbena.spark.compat.SparkShim;
import org.verbena.spark.serial.Serializers;
import org.verbena.spark.store.OutputBuffer;
import scala.Option;
import scala.Product2;
import scala.collection.BufferedIterator;
import scala.collection.Iterator;

/**
 * Where a stream per partition would take too much memory. No temporary file and no merge: what was sorted is appended
 * to its partitions at once, therefore a partition's pieces are streams of their own. Records that need those before
 * them (Java serialisation of objects) are left to Spark's sorter. Belongs to the task's thread.
 */
public final class RadixShuffleMapWriter<K, V> extends SlabMapWriter<K, V> {
    /** Records sorted at a time: larger pieces in the slabs, and a smaller index, for more memory. */
    private static final long SORTED_BYTES = 64L << 20;
    private static final long SORTED_BYTES_PER_PARTITION = 4 << 10;
    private static final long MAX_SORTED_BYTES = 1L << 29;

    private final Supplier<ShuffleWriter<K, V>> stock;
    private ShuffleWriter<K, V> instead;

    /**
     * Makes the writer of one map task.
     *
     * @param stock makes Spark's own writer
     */
    public RadixShuffleMapWriter(MapTask task, Supplier<ShuffleWriter<K, V>> stock) {
        super(task);
        this.stock = stock;
    }

    /** Whether a partition may be several streams, one behind the other, and its records need no combining. */
    public static boolean suits(ShuffleDependency<?, ?, ?> dependency, SparkConf conf) {
        return !dependency.mapSideCombine() && dependency.partitioner().numPartitions() <= OutputBuffer.MOST_PARTITIONS
            && !conf.getBoolean("spark.io.encryption.enabled", false)
            && (!conf.getBoolean("spark.shuffle.compress", true)
                || CompressionCodec$.MODULE$.supportsConcatenationOfSerializedStreams(
                    CompressionCodec$.MODULE$.createCodec(conf)));
    }

    @Override
    public void write(Iterator<Product2<K, V>> input) throws IOException {
        BufferedIterator<Product2<K, V>> records = input.buffered();
        if (!records.hasNext()) {
            publish(0, task.shim().rowChecksums(task.dependency()));
            return;
        }
        SerializerInstance serializer = Serializers.relocatable(task.dependency(), records.head());
        if (serializer == null) {
            leave();
            instead = stock.get();
            instead.write(records);
        } else {
            sort(records, serializer);
        }
    }

    private void sort(Iterator<Product2<K, V>> records, SerializerInstance serializer) throws IOException {
        RecordPages pages = new RecordPages(task.context().taskMemoryManager(), task.partitions(), new Outlet());
        SparkShim.RowChecksums checksums = task.shim().rowChecksums(task.dependency());
        try {
            long count = collect(records, serializer, pages, checksums);
            empty(pages);
            task.context().taskMetrics().incPeakExecutionMemory(pages.peak());
            publish(count, checksums);
        } finally {
            pages.free();
        }
    }

    private long collect(Iterator<Product2<K, V>> records, SerializerInstance serializer, RecordPages pages,
            SparkShim.RowChecksums checksums) throws IOException {
        Partitioner partitioner = task.dependency().partitioner();
        long limit = Math.min(MAX_SORTED_BYTES,
            Math.max(SORTED_BYTES, SORTED_BYTES_PER_PARTITION * task.partitions()));
        RecordPages.Sink sink = new RecordPages.Sink();
        SerializationStream stream = serializer.serializeStream(sink);
        long count = 0;
        while (records.hasNext()) {
            Product2<K, V> record = records.next();
            Object key = record._1();
            Object value = record._2();
            int partition = partitioner.getPartition(key);
            sink.begin(pages, partition);
            stream.writeKey(key, ANY);
            stream.writeValue(value, ANY);
            stream.flush();
            pages.add(partition, sink);
            if (checksums != null) {
                checksums.update(partition, key, value);
            }
            if (pages.bytes() >= limit) {
                empty(pages);
            }
            count++;
        }
        stream.close();
        return count;
    }

    private void empty(RecordPages pages) throws IOException {
        long before = System.nanoTime();
        pages.empty();
        task.metrics().incWriteTime(System.nanoTime() - before);
    }

    private final class Outlet implements RecordPages.Outlet {
        @Override
        public OutputStream open(int partition) {
            return RadixShuffleMapWriter.this.open(partition, true);
        }

        @Override
        public void spilling(long bytes) {
            TaskMetrics metrics = task.context().taskMetrics();
            metrics.incMemoryBytesSpilled(bytes);
        }
    }

    @Override
    public Option<MapStatus> stop(boolean success) {
        return instead != null ? instead.stop(success) : super.stop(success);
    }

    @Override
    public long[] getPartitionLengths() {
        return instead != null ? instead.getPartitionLengths() : super.getPartitionLengths();
    }
}
