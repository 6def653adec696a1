// SPDX-License-Identifier: Apache-2.0
// A block of another executor that is fetched when it is read.
package org.verbena.spark.read;

import java.io.IOException;
import java.io.InputStream;
import java.io.InterruptedIOException;
import java.nio.ByteBuffer;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import org.apache.spark.SparkEnv;
import org.apache.spark.network.buffer.ManagedBuffer;
import org.apache.spark.network.buffer.NioManagedBuffer;
import org.apache.spark.network.shuffle.BlockFetchingListener;
import org.apache.spark.storage.BlockManagerId;
import org.verbena.spark.store.StreamedBuffer;

/**
 * Spark takes buffers of this host's blocks all at once, on any thread, and reads them one after the other in the task:
 * so nothing is fetched before it is read. Spark never releases these buffers, so what came is copied to the heap.
 */
final class LateBuffer extends StreamedBuffer {
    private final SparkEnv env;
    private final BlockManagerId owner;
    private final String block;
    private final long estimate;
    private ManagedBuffer fetched;

    /** estimate: the block's size as the map output tracker knows it, in bytes. */
    LateBuffer(SparkEnv env, BlockManagerId owner, String block, long estimate) {
        this.env = env;
        this.owner = owner;
        this.block = block;
        this.estimate = estimate;
    }

    @Override
    public synchronized long size() {
        return fetched == null ? estimate : fetched.size();
    }

    @Override
    public ByteBuffer nioByteBuffer() throws IOException {
        return fetch().nioByteBuffer();
    }

    @Override
    public InputStream createInputStream() throws IOException {
        return fetch().createInputStream();
    }

    @Override
    public Object convertToNetty() throws IOException {
        return fetch().convertToNetty();
    }

    @Override
    public Object convertToNettyForSsl() throws IOException {
        return fetch().convertToNetty();
    }

    /** Waits for the answer, which the transfer service gives or refuses within its time-outs. */
    private synchronized ManagedBuffer fetch() throws IOException {
        if (fetched == null) {
            Answer answer = new Answer();
            env.blockManager().blockStoreClient().fetchBlocks(owner.host(), owner.port(), owner.executorId(),
                new String[] {block}, answer, null);
            try {
                fetched = answer.get();
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
                throw new InterruptedIOException("interrupted while waiting for " + block);
            } catch (ExecutionException e) {
                throw new IOException("cannot fetch " + block + " from " + owner + ": " + e.getCause(), e.getCause());
            }
        }
        return fetched;
    }

    private static final class Answer extends CompletableFuture<ManagedBuffer> implements BlockFetchingListener {
        @Override
        public void onBlockFetchSuccess(String name, ManagedBuffer data) {
            try {
                ByteBuffer copy = ByteBuffer.allocate(Math.toIntExact(data.size())).put(data.nioByteBuffer());
                complete(new NioManagedBuffer(copy.flip()));
            } catch (IOException | ArithmeticException | OutOfMemoryError e) {
                completeExceptionally(e);
            }
        }

        @Override
        public void onBlockFetchFailure(String name, Throwable error) {
            completeExceptionally(error);
        }
    }
}
