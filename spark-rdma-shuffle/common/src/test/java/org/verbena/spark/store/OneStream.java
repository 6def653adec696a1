// SPDX-License-Identifier: Apache-2.0
// A block on its way through Spark's real transport.
package org.verbena.spark.store;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.UnpooledByteBufAllocator;
import io.netty.handler.stream.ChunkedStream;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.apache.spark.network.TransportContext;
import org.apache.spark.network.buffer.ManagedBuffer;
import org.apache.spark.network.client.RpcResponseCallback;
import org.apache.spark.network.client.StreamCallback;
import org.apache.spark.network.client.TransportClient;
import org.apache.spark.network.client.TransportClientFactory;
import org.apache.spark.network.server.RpcHandler;
import org.apache.spark.network.server.StreamManager;
import org.apache.spark.network.server.TransportServer;
import org.apache.spark.network.util.MapConfigProvider;
import org.apache.spark.network.util.TransportConf;

/** Serves it as a stream, as executors do with large blocks, and reads it. */
final class OneStream extends RpcHandler {
    private static final int LIMIT_SECONDS = 50;
    private final ManagedBuffer block;

    private OneStream(ManagedBuffer block) {
        this.block = block;
    }

    /** What arrives over loopback. */
    static byte[] through(ManagedBuffer block) throws Exception {
        TransportConf conf = new TransportConf("shuffle", MapConfigProvider.EMPTY);
        try (TransportContext transport = new TransportContext(conf, new OneStream(block));
                TransportServer server = transport.createServer("127.0.0.1", 0, List.of());
                TransportClientFactory clients = transport.createClientFactory();
                TransportClient client = clients.createClient("127.0.0.1", server.getPort())) {
            Collect collect = new Collect();
            client.stream("block", collect);
            return collect.done.get(LIMIT_SECONDS, TimeUnit.SECONDS);
        }
    }

    /** What Netty's TLS handler would send; closes the stream. */
    static byte[] all(ChunkedStream stream) throws Exception {
        ByteArrayOutputStream all = new ByteArrayOutputStream();
        while (!stream.isEndOfInput()) {
            ByteBuf chunk = stream.readChunk(UnpooledByteBufAllocator.DEFAULT);
            chunk.readBytes(all, chunk.readableBytes());
            chunk.release();
        }
        stream.close();
        return all.toByteArray();
    }

    @Override
    public void receive(TransportClient client, ByteBuffer message, RpcResponseCallback callback) {
        callback.onFailure(new IOException("only streams are served"));
    }

    @Override
    public StreamManager getStreamManager() {
        return new StreamManager() {
            @Override
            public ManagedBuffer openStream(String id) {
                return block;
            }

            @Override
            public ManagedBuffer getChunk(long stream, int chunk) {
                throw new IllegalArgumentException("only streams are served");
            }
        };
    }

    private static final class Collect implements StreamCallback {
        private final ByteArrayOutputStream all = new ByteArrayOutputStream();
        private final CompletableFuture<byte[]> done = new CompletableFuture<>();

        @Override
        public void onData(String id, ByteBuffer some) {
            byte[] bytes = new byte[some.remaining()];
            some.get(bytes);
            all.writeBytes(bytes);
        }

        @Override
        public void onComplete(String id) {
            done.complete(all.toByteArray());
        }

        @Override
        public void onFailure(String id, Throwable cause) {
            done.completeExceptionally(cause);
        }
    }
}
