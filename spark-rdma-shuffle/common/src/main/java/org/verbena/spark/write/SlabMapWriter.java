// SPDX-License-Identifier: Apache-2.0
// What all writers into slabs have in common: publishing the output, reporting it, giving it up.
package org.verbena.spark.write;

import java.io.IOException;
import java.io.OutputStream;
import org.apache.spark.TaskContext;
import org.apache.spark.scheduler.MapStatus;
import org.apache.spark.shuffle.ShuffleWriter;
import org.apache.spark.storage.ShuffleBlockId;
import org.apache.spark.util.TaskCompletionListener;
import org.verbena.spark.compat.SparkShim;
import org.verbena.spark.serial.Serializers;
import org.verbena.spark.store.OutputBuffer;
import scala.Option;
import scala.reflect.ClassTag;
import scala.reflect.ClassTag$;

/** Belongs to the task's thread. */
abstract class SlabMapWriter<K, V> extends ShuffleWriter<K, V> {
    static final ClassTag<Object> ANY = ClassTag$.MODULE$.apply(Object.class);

    final MapTask task;
    final OutputBuffer output;
    private long[] lengths;
    private MapStatus status;
    private boolean stopped;

    SlabMapWriter(MapTask task) {
        this.task = task;
        this.output = task.store().newOutput(task.dependency().shuffleId(), task.mapId(), task.partitions());
        task.context().addTaskCompletionListener((TaskCompletionListener) ended -> giveUp());
    }

    /** A partition's stream into memory, with what Spark puts around it: compression, encryption. */
    final OutputStream open(int partition, boolean sequential) {
        ShuffleBlockId block = new ShuffleBlockId(task.dependency().shuffleId(), task.mapId(), partition);
        return task.blocks().serializerManager().wrapStream(block, output.stream(partition, sequential));
    }

    /** Publishes the output; every stream has to be closed. */
    final void publish(long records, SparkShim.RowChecksums checksums) throws IOException {
        long before = System.nanoTime();
        // Adaptive execution plans shuffles of rows only.
        long[] planned = Serializers.areRows(task.dependency()) ? task.sizes().planned(output, task.partitions()) : null;
        lengths = output.commit();
        task.metrics().incWriteTime(System.nanoTime() - before);
        long bytes = 0;
        for (long length : lengths) {
            bytes += length;
        }
        countSpilled(task.context(), output);
        task.metrics().incRecordsWritten(records);
        task.metrics().incBytesWritten(bytes);
        status = status(lengths, checksums);
        if (planned != null) {
            status = new PlannedStatus(status, status(planned, checksums), checksums == null ? 0 : checksums.value());
        }
    }

    /** What did not fit in memory, and is written twice, is a spill of the task in Spark's metrics. */
    static void countSpilled(TaskContext context, OutputBuffer output) {
        context.taskMetrics().incMemoryBytesSpilled(output.overflowBytes());
        context.taskMetrics().incDiskBytesSpilled(output.overflowFileBytes());
    }

    private MapStatus status(long[] sizes, SparkShim.RowChecksums checksums) {
        return task.shim().mapStatus(task.blocks().shuffleServerId(), sizes, task.mapId(), checksums);
    }

    @Override
    public Option<MapStatus> stop(boolean success) {
        if (success && status != null && !stopped) {
            stopped = true;
            return Option.apply(status);
        }
        giveUp();
        return Option.empty();
    }

    /**
     * Gives everything back, also what is published already. Spark stops writers after exceptions only: after an Error, or
     * when a task ends between its output and its report, the end of the task gets here. Idempotent.
     */
    private void giveUp() {
        if (!stopped) {
            stopped = true;
            output.abort();
            discardStreams();
            task.store().remove(task.dependency().shuffleId(), task.mapId());
        }
    }

    /** Another writer makes this output. */
    final void leave() {
        stopped = true;
        output.abort();
    }

    /** Closes streams that are open; what they write has no place to go. Those of some codecs hold native memory. */
    void discardStreams() {
    }

    @Override
    public long[] getPartitionLengths() {
        return lengths;
    }
}
