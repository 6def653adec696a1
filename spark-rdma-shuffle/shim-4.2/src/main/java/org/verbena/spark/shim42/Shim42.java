// SPDX-License-Identifier: Apache-2.0
// The calls that differ between Spark versions, for Spark 4.1 and 4.2.
package org.verbena.spark.shim42;

import java.util.function.Supplier;
import org.apache.spark.ShuffleDependency;
import org.apache.spark.SparkConf;
import org.apache.spark.scheduler.MapStatus;
import org.apache.spark.scheduler.MapStatus$;
import org.apache.spark.shuffle.IndexShuffleBlockResolver;
import org.apache.spark.shuffle.checksum.RowBasedChecksum;
import org.apache.spark.storage.BlockManagerId;
import org.verbena.spark.compat.SparkShim;
import org.verbena.spark.read.SlabAccess;
import org.verbena.spark.resolver.SlabResolver;

/** Loaded by name; the base of the 4.3 shim. */
public class Shim42 implements SparkShim {
    /** Called by {@link SparkShim#load}. */
    public Shim42() {
    }

    private record Rows(RowBasedChecksum[] sums) implements RowChecksums {
        @Override
        public void update(int partition, Object key, Object value) {
            sums[partition].update(key, value);
        }

        @Override
        public long value() {
            return RowBasedChecksum.getAggregatedChecksumValue(sums);
        }
    }

    @Override
    public IndexShuffleBlockResolver newResolver(SparkConf conf, IndexShuffleBlockResolver stock,
            Supplier<SlabAccess> engine) {
        return new SlabResolver(conf, stock, engine);
    }

    @Override
    public void tryOut() {
        SparkShim.super.tryOut();
        try {
            ShuffleDependency.class.getMethod("rowBasedChecksums");
        } catch (NoSuchMethodException e) {
            throw new NoSuchMethodError(e.getMessage());
        }
    }

    @Override
    public MapStatus mapStatus(BlockManagerId location, long[] lengths, long mapId, RowChecksums checksums) {
        return MapStatus$.MODULE$.apply(location, lengths, mapId, checksums == null ? 0 : checksums.value());
    }

    @Override
    public RowChecksums rowChecksums(ShuffleDependency<?, ?, ?> dependency) {
        RowBasedChecksum[] sums = dependency.rowBasedChecksums();
        return sums == null || sums.length == 0 ? null : new Rows(sums);
    }
}
