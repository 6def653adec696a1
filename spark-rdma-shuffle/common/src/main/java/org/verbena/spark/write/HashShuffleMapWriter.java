// SPDX-License-Identifier: Apache-2.0
// Serialises every record straight into its partition's memory: no sort, no temporary file, no merge.
package org.verbena.spark.write;

import java.io.Closeable;
import java.io.IOException;
import java.io.OutputStream;
import org.apache.spark.Partitioner;
import org.apache.spark.ShuffleDependency;
import org.apache.spark.SparkConf;
import org.apache.spark.TaskContext;
import org.apache.spark.serializer.SerializationStream;
import org.apache.spark.serializer.Serializer;
import org.apache.spark.serializer.SerializerInstance;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.verbena.spark.compat.SparkShim;
import org.verbena.spark.serial.Serializers;
import scala.Product2;
import scala.Tuple2;
import scala.collection.Iterator;

/**
 * Rows may be reused by the caller after each record, therefore nothing is kept but bytes. Belongs to the task's thread.
 */
public final class HashShuffleMapWriter<K, V> extends SlabMapWriter<K, V> {
    private static final Logger LOG = LoggerFactory.getLogger(HashShuffleMapWriter.class);
    private static final int MAX_PARTITIONS = 2048;
    private static final int MAX_WRAPPED_PARTITIONS = 256;
    /** As many as Spark's own shuffle opens; of serializers that are not ours, whose streams keep we do not know what. */
    private static final int MAX_FOREIGN_PARTITIONS = 200;
    /** Most bytes of all streams of a task. */
    private static final long MAX_BYTES = 48L << 20;

    private final SerializationStream[] streams;
    /** What each of them writes to. */
    private final OutputStream[] outputs;

    /** Makes the writer of one map task. */
    public HashShuffleMapWriter(MapTask task) {
        super(task);
        this.streams = new SerializationStream[task.partitions()];
        this.outputs = new OutputStream[task.partitions()];
    }

    /**
     * Whether one stream per partition is the right way: not too many partitions (a compressing or encrypting stream
     * holds buffers of its own, a stream of Kryo's much more).
     */
    public static boolean suits(ShuffleDependency<?, ?, ?> dependency, SparkConf conf) {
        return dependency.partitioner().numPartitions() <= maxPartitions(dependency.serializer(), conf);
    }

    /** Most partitions that get a stream each. */
    static int maxPartitions(Serializer serializer, SparkConf conf) {
        int most = !Serializers.isLight(serializer) ? MAX_FOREIGN_PARTITIONS
            : StreamCost.isWrapped(conf) ? MAX_WRAPPED_PARTITIONS : MAX_PARTITIONS;
        return (int) Math.min(most, MAX_BYTES / StreamCost.bytes(serializer, conf));
    }

    /** Combined by key when the shuffle wants that, in Spark's own map, which spills; needs no order by partition. */
    private Iterator<? extends Product2<?, ?>> combined(Iterator<Product2<K, V>> records) {
        return task.dependency().mapSideCombine() ? combined(task.dependency(), records, task.context()) : records;
    }

    @SuppressWarnings("unchecked")
    private static <K, V, C> Iterator<Tuple2<K, C>> combined(ShuffleDependency<?, ?, ?> dependency,
            Iterator<Product2<K, V>> records, TaskContext context) {
        return ((ShuffleDependency<K, V, C>) dependency).aggregator().get().combineValuesByKey(records, context);
    }

    @Override
    public void write(Iterator<Product2<K, V>> input) throws IOException {
        Iterator<? extends Product2<?, ?>> records = combined(input);
        SparkShim.RowChecksums checksums = task.shim().rowChecksums(task.dependency());
        SerializerInstance serializer = task.dependency().serializer().newInstance();
        StreamMemory memory = new StreamMemory(task.context().taskMemoryManager(), Serializers.values(serializer));
        try {
            long count = write(records, serializer, memory, checksums);
            closeAll();
            publish(count, checksums);
        } finally {
            memory.free();
        }
    }

    private long write(Iterator<? extends Product2<?, ?>> records, SerializerInstance serializer, StreamMemory memory,
            SparkShim.RowChecksums checksums) {
        Partitioner partitioner = task.dependency().partitioner();
        long cost = StreamCost.bytes(task.dependency().serializer(), task.blocks().conf());
        long count = 0;
        while (records.hasNext()) {
            Product2<?, ?> record = records.next();
            Object key = record._1();
            Object value = record._2();
            int partition = partitioner.getPartition(key);
            SerializationStream stream = streams[partition];
            if (stream == null) {
                outputs[partition] = open(partition, false);
                stream = serializer.serializeStream(outputs[partition]);
                streams[partition] = stream;
                memory.opened(cost);
            }
            stream.writeKey(key, ANY);
            stream.writeValue(value, ANY);
            if (checksums != null) {
                checksums.update(partition, key, value);
            }
            memory.cover();
            count++;
        }
        return count;
    }

    private void closeAll() {
        long before = System.nanoTime();
        for (int i = 0; i < streams.length; i++) {
            if (streams[i] != null) {
                streams[i].close();
                streams[i] = null;
                outputs[i] = null;
            }
        }
        task.metrics().incWriteTime(System.nanoTime() - before);
    }

    @Override
    void discardStreams() {
        for (int i = 0; i < streams.length; i++) {
            discard(streams[i]);
            discard(outputs[i]);
            streams[i] = null;
            outputs[i] = null;
        }
    }

    private static void discard(Closeable stream) {
        if (stream != null) {
            try {
                stream.close();
            } catch (IOException | RuntimeException | Error e) { // the task has ended for another reason
                LOG.debug("a stream of a map output that is given up", e);
            }
        }
    }
}
