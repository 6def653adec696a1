// SPDX-License-Identifier: Apache-2.0
// What a writer of map outputs has to know about its task.
package org.verbena.spark.write;

import org.apache.spark.ShuffleDependency;
import org.apache.spark.TaskContext;
import org.apache.spark.shuffle.ShuffleWriteMetricsReporter;
import org.apache.spark.storage.BlockManager;
import org.verbena.spark.compat.SparkShim;
import org.verbena.spark.store.SlabStore;

/** One map task: what it writes, for whom it counts, and where the output goes. */
public record MapTask(ShuffleDependency<?, ?, ?> dependency, long mapId, TaskContext context, BlockManager blocks,
        ShuffleWriteMetricsReporter metrics, SlabStore store, SparkShim shim, PlannedSizes sizes) {
    int partitions() {
        return dependency.partitioner().numPartitions();
    }
}
