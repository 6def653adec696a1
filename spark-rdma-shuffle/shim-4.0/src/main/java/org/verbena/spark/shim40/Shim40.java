// SPDX-License-Identifier: Apache-2.0
// The calls that differ between Spark versions, for Spark 4.0.
package org.verbena.spark.shim40;

import org.apache.spark.ShuffleDependency;
import org.apache.spark.scheduler.MapStatus;
import org.apache.spark.storage.BlockManagerId;
import org.verbena.spark.shim35.Shim35;
import org.verbena.spark.shim42.Shim42;

/** The Scala version of 4.2 with the map status of 3.5. Loaded by name. */
public final class Shim40 extends Shim42 {
    private final Shim35 older = new Shim35();

    /** Called by SparkShim.load. */
    public Shim40() {
    }

    @Override
    public MapStatus mapStatus(BlockManagerId location, long[] lengths, long mapId, RowChecksums checksums) {
        return older.mapStatus(location, lengths, mapId, checksums);
    }

    @Override
    public RowChecksums rowChecksums(ShuffleDependency<?, ?, ?> dependency) {
        return older.rowChecksums(dependency);
    }
}
