// SPDX-License-Identifier: Apache-2.0
// Block uploads of Spark 3.5, by Spark's own transport.
package org.verbena.spark.shim35;

import org.apache.spark.network.BlockTransferService;
import org.apache.spark.network.buffer.ManagedBuffer;
import org.apache.spark.storage.BlockId;
import org.apache.spark.storage.StorageLevel;
import org.verbena.spark.read.FetchClient;
import org.verbena.spark.read.VerbenaBlockTransferService;
import scala.concurrent.Future;
import scala.reflect.ClassTag;
import scala.runtime.BoxedUnit;

/** Thread safe. */
final class Transfer35 extends VerbenaBlockTransferService {
    Transfer35(BlockTransferService inner, FetchClient client) {
        super(inner, client);
    }

    @Override
    public Future<BoxedUnit> uploadBlock(String host, int port, String executor, BlockId block, ManagedBuffer data,
            StorageLevel level, ClassTag<?> tag) {
        return inner().uploadBlock(host, port, executor, block, data, level, tag);
    }
}
