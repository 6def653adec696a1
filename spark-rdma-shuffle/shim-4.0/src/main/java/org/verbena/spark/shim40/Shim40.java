// SPDX-License-Identifier: Apache-2.0
// The calls that differ between Spark versions, for Spark 4.0 and for 3.5 with Scala 2.13.
package org.verbena.spark.shim40;

import java.util.function.Supplier;
import org.apache.spark.SparkConf;
import org.apache.spark.scheduler.MapStatus;
import org.apache.spark.scheduler.MapStatus$;
import org.apache.spark.shuffle.IndexShuffleBlockResolver;
import org.apache.spark.storage.BlockManagerId;
import org.verbena.spark.compat.SparkShim;
import org.verbena.spark.read.SlabAccess;
import org.verbena.spark.resolver.SlabResolver;

/** As 3.5, with the sequences of Scala 2.13. Loaded by name. */
public final class Shim40 implements SparkShim {
    /** Called by {@link SparkShim#load}. */
    public Shim40() {
    }

    @Override
    public IndexShuffleBlockResolver newResolver(SparkConf conf, IndexShuffleBlockResolver stock,
            Supplier<SlabAccess> engine) {
        return new SlabResolver(conf, stock, engine);
    }

    @Override
    public MapStatus mapStatus(BlockManagerId location, long[] lengths, long mapId, RowChecksums checksums) {
        return MapStatus$.MODULE$.apply(location, lengths, mapId);
    }
}
