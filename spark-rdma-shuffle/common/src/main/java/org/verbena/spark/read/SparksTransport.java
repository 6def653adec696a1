// SPDX-License-Identifier: Apache-2.0
// What the core could not bring: Spark's own transport brings it.
package org.verbena.spark.read;

import java.io.IOException;
import org.apache.spark.network.BlockTransferService;
import org.apache.spark.network.shuffle.BlockFetchingListener;
import org.verbena.core.VbnException;
import org.verbena.core.VbnStatus;
import org.verbena.spark.metrics.Traffic;

/** Forbidden by spark.verbena.fallback=forbid: then blocks fail with the cause. Thread safe. */
final class SparksTransport {
    private final BlockTransferService inner;
    private final boolean allowed;
    private final Requests requests;
    private final FetchThreads threads;
    private final Traffic traffic;

    SparksTransport(BlockTransferService inner, boolean allowed, Requests requests, FetchThreads threads, Traffic traffic) {
        this.inner = inner;
        this.allowed = allowed;
        this.requests = requests;
        this.threads = threads;
        this.traffic = traffic;
    }

    /** Any thread: takes over what is left of a request, which ends. */
    void takeOver(FetchRequest request, VbnException cause) {
        requests.ended(request);
        String[] left = request.takeRest();
        if (left.length == 0) {
            return;
        }
        traffic.countFallback(cause.kind() == VbnStatus.NO_MEMORY ? Traffic.Reason.NO_MEMORY : Traffic.Reason.DOWN, left.length);
        if (allowed) {
            fetch(request, left, cause);
        } else {
            fail(listener(request), left, cause);
        }
    }

    /** Brings a block that the other executor could not give. */
    void bring(FetchRequest request, String block) {
        traffic.countFallback(Traffic.Reason.NOT_SERVED, 1);
        fetch(request, new String[] {block}, null);
    }

    private void fetch(FetchRequest request, String[] blocks, VbnException cause) {
        BlockFetchingListener listener = listener(request);
        Link link = request.link();
        if (!threads.run(() -> inner.fetchBlocks(link.host(), link.port(), link.executor(), blocks, listener, null))) {
            fail(listener, blocks, new IOException("the executor is stopping", cause));
        }
    }

    private BlockFetchingListener listener(FetchRequest request) {
        return new CountedListener(request.listener(), traffic);
    }

    private static void fail(BlockFetchingListener listener, String[] blocks, Exception cause) {
        for (String block : blocks) {
            listener.onBlockFetchFailure(block, cause);
        }
    }
}
