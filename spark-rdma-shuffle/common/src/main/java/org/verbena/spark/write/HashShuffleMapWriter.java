// SPDX-License-Identifier: Apache-2.0
// Serialises every record straight into its partition's memory: no sort, no temporary file, no merge.
package org.verbena.spark.write;

import java.io.IOException;
import java.io.OutputStream;
import org.apache.spark.Partitioner;
import org.apache.spark.ShuffleDependency;
import org.apache.spark.SparkConf;
import org.apache.spark.TaskContext;
import org.apache.spark.scheduler.MapStatus;
import org.apache.spark.serializer.SerializationStream;
import org.apache.spark.serializer.SerializerInstance;
import org.apache.spark.serializer.SerializerManager;
import org.apache.spark.shuffle.ShuffleWriteMetricsReporter;
import org.apache.spark.shuffle.ShuffleWriter;
import org.apache.spark.storage.BlockManager;
import org.apache.spark.storage.ShuffleBlockId;
import org.verbena.spark.SparkShim;
import org.verbena.spark.serial.Serializers;
import org.verbena.spark.store.OutputBuffer;
import org.verbena.spark.store.SlabStore;
import scala.Option;
import scala.Product2;
import scala.Tuple2;
import scala.collection.Iterator;
import scala.reflect.ClassTag;
import scala.reflect.ClassTag$;

/**
 * Rows may be reused by the caller after each record, therefore nothing is kept but bytes. Belongs to the task's thread.
 */
public final class HashShuffleMapWriter<K, V> extends ShuffleWriter<K, V> {
    private static final int MAX_PARTITIONS = 2048;
    private static final int MAX_WRAPPED_PARTITIONS = 256;
    private static final ClassTag<Object> ANY = ClassTag$.MODULE$.apply(Object.class);

    private final ShuffleDependency<?, ?, ?> dependency;
    private final long mapId;
    private final TaskContext context;
    private final BlockManager blocks;
    private final ShuffleWriteMetricsReporter metrics;
    private final SlabStore store;
    private final SparkShim shim;
    private final PlannedSizes sizes;
    private final OutputBuffer output;
    private final SerializationStream[] streams;
    private long[] lengths;
    private MapStatus status;
    private boolean stopped;

    /** Makes the writer of one map task. */
    public HashShuffleMapWriter(ShuffleDependency<?, ?, ?> dependency, long mapId, TaskContext context,
            BlockManager blocks, ShuffleWriteMetricsReporter metrics, SlabStore store, SparkShim shim,
            PlannedSizes sizes) {
        int partitions = dependency.partitioner().numPartitions();
        this.dependency = dependency;
        this.mapId = mapId;
        this.context = context;
        this.blocks = blocks;
        this.metrics = metrics;
        this.store = store;
        this.shim = shim;
        this.sizes = sizes;
        this.output = store.newOutput(dependency.shuffleId(), mapId, partitions);
        this.streams = new SerializationStream[partitions];
    }

    /**
     * Whether one stream per partition is the right way: not too many partitions (a compressing or encrypting stream
     * holds buffers of its own).
     */
    public static boolean suits(ShuffleDependency<?, ?, ?> dependency, SparkConf conf) {
        boolean wrapped = conf.getBoolean("spark.shuffle.compress", true)
            || conf.getBoolean("spark.io.encryption.enabled", false);
        return dependency.partitioner().numPartitions() <= (wrapped ? MAX_WRAPPED_PARTITIONS : MAX_PARTITIONS);
    }

    /** Combined by key when the shuffle wants that, in Spark's own map, which spills; needs no order by partition. */
    private Iterator<? extends Product2<?, ?>> combined(Iterator<Product2<K, V>> records) {
        return dependency.mapSideCombine() ? combined(dependency, records, context) : records;
    }

    @SuppressWarnings("unchecked")
    private static <K, V, C> Iterator<Tuple2<K, C>> combined(ShuffleDependency<?, ?, ?> dependency,
            Iterator<Product2<K, V>> records, TaskContext context) {
        return ((ShuffleDependency<K, V, C>) dependency).aggregator().get().combineValuesByKey(records, context);
    }

    @Override
    public void write(Iterator<Product2<K, V>> input) throws IOException {
        Iterator<? extends Product2<?, ?>> records = combined(input);
        SparkShim.RowChecksums checksums = shim.rowChecksums(dependency);
        Partitioner partitioner = dependency.partitioner();
        SerializerInstance serializer = dependency.serializer().newInstance();
        long count = 0;
        while (records.hasNext()) {
            Product2<?, ?> record = records.next();
            Object key = record._1();
            Object value = record._2();
            int partition = partitioner.getPartition(key);
            SerializationStream stream = streams[partition];
            if (stream == null) {
                stream = open(serializer, partition);
            }
            stream.writeKey(key, ANY);
            stream.writeValue(value, ANY);
            if (checksums != null) {
                checksums.update(partition, key, value);
            }
            count++;
        }
        long before = System.nanoTime();
        for (int i = 0; i < streams.length; i++) {
            if (streams[i] != null) {
                streams[i].close();
                streams[i] = null;
            }
        }
        double ratio = Serializers.areRows(dependency) ? sizes.ratio(output, streams.length) : 1;
        lengths = output.commit();
        metrics.incWriteTime(System.nanoTime() - before);
        long bytes = 0;
        for (long length : lengths) {
            bytes += length;
        }
        metrics.incRecordsWritten(count);
        metrics.incBytesWritten(bytes);
        status = shim.mapStatus(blocks.shuffleServerId(), PlannedSizes.scaled(lengths, ratio), mapId, checksums);
    }

    private SerializationStream open(SerializerInstance serializer, int partition) {
        SerializerManager manager = blocks.serializerManager();
        ShuffleBlockId block = new ShuffleBlockId(dependency.shuffleId(), mapId, partition);
        OutputStream wrapped = manager.wrapStream(block, output.stream(partition, false));
        SerializationStream stream = serializer.serializeStream(wrapped);
        streams[partition] = stream;
        return stream;
    }

    @Override
    public Option<MapStatus> stop(boolean success) {
        if (stopped) {
            return Option.empty();
        }
        stopped = true;
        if (success && status != null) {
            return Option.apply(status);
        }
        output.abort();
        store.remove(dependency.shuffleId(), mapId);
        return Option.empty();
    }

    @Override
    public long[] getPartitionLengths() {
        return lengths;
    }
}
