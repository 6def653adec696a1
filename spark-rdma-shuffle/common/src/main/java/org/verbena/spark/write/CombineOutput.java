// SPDX-License-Identifier: Apache-2.0
// Lets Spark's own map writers (very many partitions) write into slabs.
package org.verbena.spark.write;

import java.io.IOException;
import java.io.OutputStream;
import java.util.Map;
import org.apache.spark.SparkConf;
import org.apache.spark.SparkEnv;
import org.apache.spark.TaskContext;
import org.apache.spark.shuffle.api.ShuffleDataIO;
import org.apache.spark.shuffle.api.ShuffleDriverComponents;
import org.apache.spark.shuffle.api.ShuffleExecutorComponents;
import org.apache.spark.shuffle.api.ShuffleMapOutputWriter;
import org.apache.spark.shuffle.api.ShufflePartitionWriter;
import org.apache.spark.shuffle.api.SingleSpillShuffleMapOutputWriter;
import org.apache.spark.shuffle.api.metadata.MapOutputCommitMessage;
import org.apache.spark.shuffle.sort.io.LocalDiskShuffleDataIO;
import org.apache.spark.util.TaskCompletionListener;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.verbena.spark.store.OutputBuffer;
import org.verbena.spark.store.PackedMapWriter;
import org.verbena.spark.store.ShuffleFiles;
import org.verbena.spark.store.SlabStore;

/** Spark's plug-in point for map output storage; uses Spark's local disk where there is no slab store. */
public final class CombineOutput implements ShuffleDataIO {
    private static final Logger LOG = LoggerFactory.getLogger(CombineOutput.class);
    private final ShuffleDataIO disk;

    /** Called by Spark. */
    public CombineOutput(SparkConf conf) {
        this.disk = new LocalDiskShuffleDataIO(conf);
    }

    @Override
    public ShuffleExecutorComponents executor() {
        return new Executor(disk.executor());
    }

    @Override
    public ShuffleDriverComponents driver() {
        return disk.driver();
    }

    private static final class Executor implements ShuffleExecutorComponents {
        private final ShuffleExecutorComponents disk;

        Executor(ShuffleExecutorComponents disk) {
            this.disk = disk;
        }

        private static SlabStore store() {
            return SparkEnv.get().shuffleManager() instanceof SlabHolder manager ? manager.slabs() : null;
        }

        private static ShuffleFiles packedFiles() {
            return SparkEnv.get().shuffleManager() instanceof SlabHolder manager ? manager.packedFiles() : null;
        }

        @Override
        public void initializeExecutor(String application, String executor, Map<String, String> extra) {
            disk.initializeExecutor(application, executor, extra);
        }

        @Override
        public ShuffleMapOutputWriter createMapOutputWriter(int shuffleId, long mapTaskId, int partitions)
                throws IOException {
            SlabStore store = partitions > OutputBuffer.MOST_PARTITIONS ? null : store();
            if (store != null) {
                return writer(store, shuffleId, mapTaskId, partitions);
            }
            ShuffleFiles packed = packedFiles();
            return packed == null ? disk.createMapOutputWriter(shuffleId, mapTaskId, partitions)
                : packing(packed, shuffleId, mapTaskId, partitions);
        }

        @Override
        public java.util.Optional<SingleSpillShuffleMapOutputWriter> createSingleFileMapOutputWriter(int shuffleId,
                long mapId) throws IOException {
            return store() == null && packedFiles() == null ? disk.createSingleFileMapOutputWriter(shuffleId, mapId)
                : java.util.Optional.empty();
        }
    }

    /** Spark's sorter says nothing when its task dies; the end of the task does. */
    static ShuffleMapOutputWriter writer(SlabStore store, int shuffleId, long mapTaskId, int partitions) {
        OutputBuffer output = store.newOutput(shuffleId, mapTaskId, partitions);
        TaskContext task = TaskContext.get();
        if (task != null) {
            task.addTaskCompletionListener((TaskCompletionListener) ended -> output.abort());
        }
        return new Writer(output);
    }

    /** The same for an executor without slabs. */
    static ShuffleMapOutputWriter packing(ShuffleFiles files, int shuffleId, long mapTaskId, int partitions) {
        PackedMapWriter output = new PackedMapWriter(files, shuffleId, mapTaskId, partitions);
        TaskContext task = TaskContext.get();
        if (task != null) {
            task.addTaskCompletionListener((TaskCompletionListener) ended -> {
                try {
                    output.close();
                } catch (IOException e) {
                    LOG.warn("cannot remove a temporary file of shuffle {}: {}", shuffleId, e.toString());
                }
            });
        }
        return output;
    }

    /** Partitions come in order, one after the other. Belongs to the task's thread. */
    private static final class Writer implements ShuffleMapOutputWriter {
        private final OutputBuffer output;

        Writer(OutputBuffer output) {
            this.output = output;
        }

        @Override
        public ShufflePartitionWriter getPartitionWriter(int partition) {
            return new ShufflePartitionWriter() {
                @Override
                public OutputStream openStream() {
                    return output.stream(partition, true);
                }

                @Override
                public long getNumBytesWritten() {
                    return output.length(partition);
                }
            };
        }

        @Override
        public MapOutputCommitMessage commitAllPartitions(long[] checksums) throws IOException {
            long[] lengths = output.commit();
            TaskContext task = TaskContext.get();
            if (task != null) {
                SlabMapWriter.countSpilled(task, output);
            }
            return MapOutputCommitMessage.of(lengths);
        }

        @Override
        public void abort(Throwable error) {
            output.abort();
        }
    }
}
