// SPDX-License-Identifier: Apache-2.0
// The parts of an executor that finding a block needs.
package org.verbena.spark.read;

import org.verbena.spark.metrics.Traffic;
import org.verbena.spark.store.HostLocalSlabs;
import org.verbena.spark.store.SlabStore;

/** Implemented by the engine of a SparkEnv; block resolvers know it by these methods alone. Thread safe. */
public interface SlabAccess {
    /** The slab store of this executor; null while it has none. */
    SlabStore existingStore();

    /** Map outputs of the other executors of this host. */
    HostLocalSlabs neighbours();

    /** Blocks of this host that are neither in memory that can be mapped here nor in files. */
    NeighbourBlocks neighbourBlocks();

    /** Bytes by path, which readers count. */
    Traffic traffic();

    /** The address that another executor connects to; null when transfers are Spark's. */
    byte[] address();
}
