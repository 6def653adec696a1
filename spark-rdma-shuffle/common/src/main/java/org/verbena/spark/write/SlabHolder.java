// SPDX-License-Identifier: Apache-2.0
// A shuffle manager whose map outputs may be in slabs.
package org.verbena.spark.write;

import org.verbena.spark.store.ShuffleFiles;
import org.verbena.spark.store.SlabStore;

/** Implemented by the plugin's shuffle manager, which {@link CombineOutput} finds in the SparkEnv. Thread safe. */
public interface SlabHolder {
    /** The slab store, made at the first call; null when map outputs are Spark's files. */
    SlabStore slabs();

    /** Spark's files, where they are to be compressed although the shuffle is not; null where they are not. */
    ShuffleFiles packedFiles();
}
