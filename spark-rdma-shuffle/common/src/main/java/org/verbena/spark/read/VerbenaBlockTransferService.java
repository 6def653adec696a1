// SPDX-License-Identifier: Apache-2.0
// Stands in for Spark's block transfer service: fetches what it can, hands the rest to Spark's own.
package org.verbena.spark.read;

import com.codahale.metrics.MetricSet;
import java.io.IOException;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import org.apache.spark.network.BlockDataManager;
import org.apache.spark.network.BlockTransferService;
import org.apache.spark.network.buffer.ManagedBuffer;
import org.apache.spark.network.shuffle.BlockFetchingListener;
import org.apache.spark.network.shuffle.BlockPushingListener;
import org.apache.spark.network.shuffle.DownloadFileManager;
import org.apache.spark.network.shuffle.MergeFinalizerListener;
import org.apache.spark.network.shuffle.MergedBlocksMetaListener;
import org.apache.spark.network.shuffle.checksum.Cause;
import org.apache.spark.storage.BlockId;
import org.apache.spark.storage.StorageLevel;
import scala.concurrent.Future;
import scala.reflect.ClassTag;
import scala.runtime.BoxedUnit;

/** For Spark 3.5 to 4.2; the shim of 4.3 adds its uploadBlock. Thread safe. */
public class VerbenaBlockTransferService extends BlockTransferService {
    private final BlockTransferService inner;
    private final FetchClient client;

    /** Wraps Spark's service. */
    public VerbenaBlockTransferService(BlockTransferService inner, FetchClient client) {
        this.inner = inner;
        this.client = client;
    }

    /** Spark's own service. */
    protected final BlockTransferService inner() {
        return inner;
    }

    @Override
    public void fetchBlocks(String host, int port, String executor, String[] blocks, BlockFetchingListener listener,
            DownloadFileManager files) {
        client.fetch(host, port, executor, blocks, listener, files);
    }

    @Override
    public Future<BoxedUnit> uploadBlock(String host, int port, String executor, BlockId block, ManagedBuffer data,
            StorageLevel level, ClassTag<?> tag) {
        return inner.uploadBlock(host, port, executor, block, data, level, tag);
    }

    @Override
    public void init(BlockDataManager blocks) {
        inner.init(blocks);
    }

    @Override
    public int port() {
        return inner.port();
    }

    @Override
    public String hostName() {
        return inner.hostName();
    }

    @Override
    public void getHostLocalDirs(String host, int port, String[] executors,
            CompletableFuture<Map<String, String[]>> result) {
        inner.getHostLocalDirs(host, port, executors, result);
    }

    @Override
    public Cause diagnoseCorruption(String host, int port, String executor, int shuffle, long map, int reduce,
            long checksum, String algorithm) {
        return inner.diagnoseCorruption(host, port, executor, shuffle, map, reduce, checksum, algorithm);
    }

    @Override
    public MetricSet shuffleMetrics() {
        return inner.shuffleMetrics();
    }

    @Override
    public void setAppAttemptId(String attempt) {
        inner.setAppAttemptId(attempt);
    }

    @Override
    public String getAppAttemptId() {
        return inner.getAppAttemptId();
    }

    @Override
    public void pushBlocks(String host, int port, String[] blocks, ManagedBuffer[] buffers,
            BlockPushingListener listener) {
        inner.pushBlocks(host, port, blocks, buffers, listener);
    }

    @Override
    public void finalizeShuffleMerge(String host, int port, int shuffle, int merge, MergeFinalizerListener listener) {
        inner.finalizeShuffleMerge(host, port, shuffle, merge, listener);
    }

    @Override
    public void getMergedBlockMeta(String host, int port, int shuffle, int merge, int reduce,
            MergedBlocksMetaListener listener) {
        inner.getMergedBlockMeta(host, port, shuffle, merge, reduce, listener);
    }

    @Override
    public boolean removeShuffleMerge(String host, int port, int shuffle, int merge) {
        return inner.removeShuffleMerge(host, port, shuffle, merge);
    }

    @Override
    public void close() throws IOException {
        inner.close();
    }
}
