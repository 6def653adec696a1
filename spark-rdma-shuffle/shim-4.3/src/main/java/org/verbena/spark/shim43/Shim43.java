// SPDX-License-Identifier: Apache-2.0
// The calls that differ between Spark versions, for Spark 4.3.
package org.verbena.spark.shim43;

import org.apache.spark.network.BlockTransferService;
import org.verbena.spark.read.FetchClient;
import org.verbena.spark.shim42.Shim42;

/** As 4.2 but for block uploads. Loaded by name. */
public final class Shim43 extends Shim42 {
    /** Called by SparkShim.load. */
    public Shim43() {
    }

    @Override
    public BlockTransferService newTransferService(BlockTransferService inner, FetchClient client) {
        return new Transfer43(inner, client);
    }
}
