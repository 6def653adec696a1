// SPDX-License-Identifier: Apache-2.0
// The calls that differ between Spark versions, for Spark 3.5.
package org.verbena.spark.shim35;

import java.util.function.Supplier;
import org.apache.spark.SparkConf;
import org.apache.spark.scheduler.MapStatus;
import org.apache.spark.scheduler.MapStatus$;
import org.apache.spark.shuffle.IndexShuffleBlockResolver;
import org.apache.spark.storage.BlockManagerId;
import org.apache.spark.ui.SparkUI;
import org.apache.spark.ui.WebUITab;
import org.verbena.spark.compat.SparkShim;
import org.verbena.spark.read.SlabAccess;
import org.verbena.spark.resolver.SlabResolver;

/** Loaded by name. */
public class Shim35 implements SparkShim {
    /** Called by {@link SparkShim#load}. */
    public Shim35() {
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

    @Override
    public WebUITab newTab(SparkUI ui, Supplier<String> html) {
        return new Tab35(ui, html);
    }
}
