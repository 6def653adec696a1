// SPDX-License-Identifier: Apache-2.0
// Counts what Spark's own transport brings.
package org.verbena.spark.read;

import org.apache.spark.network.buffer.ManagedBuffer;
import org.apache.spark.network.shuffle.BlockFetchingListener;
import org.verbena.spark.metrics.Traffic;

/** Stands before the listener of a fetch. Thread safe if that is. */
final class CountedListener implements BlockFetchingListener {
    private final BlockFetchingListener inner;
    private final Traffic traffic;

    CountedListener(BlockFetchingListener inner, Traffic traffic) {
        this.inner = inner;
        this.traffic = traffic;
    }

    @Override
    public void onBlockFetchSuccess(String block, ManagedBuffer data) {
        traffic.count(Traffic.Path.NETTY, data.size());
        inner.onBlockFetchSuccess(block, data);
    }

    @Override
    public void onBlockFetchFailure(String block, Throwable error) {
        inner.onBlockFetchFailure(block, error);
    }
}
