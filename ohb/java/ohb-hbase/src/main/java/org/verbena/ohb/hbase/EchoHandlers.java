// SPDX-License-Identifier: Apache-2.0
package org.verbena.ohb.hbase;

import java.io.IOException;
import java.util.Random;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.apache.hbase.thirdparty.io.netty.buffer.ByteBuf;
import org.apache.hbase.thirdparty.io.netty.buffer.ByteBufUtil;
import org.apache.hbase.thirdparty.io.netty.buffer.Unpooled;
import org.apache.hbase.thirdparty.io.netty.channel.ChannelHandlerContext;
import org.apache.hbase.thirdparty.io.netty.channel.ChannelInboundHandlerAdapter;

/** What is done with bytes at the two sides of an echo. */
final class EchoHandlers {
    private EchoHandlers() {
    }

    /** Sends back what comes. */
    static final class Back extends ChannelInboundHandlerAdapter {
        @Override
        public void channelRead(ChannelHandlerContext context, Object message) {
            context.writeAndFlush(message, context.voidPromise());
        }
    }

    /** Sends bytes, waits until they have come back, compares them, and so on; all on the event loop. */
    static final class Rounds extends ChannelInboundHandlerAdapter {
        private static final int LIMIT_SECONDS = 300;

        /** One command. */
        private static final class Run {
            final CompletableFuture<long[]> result = new CompletableFuture<>();
            final ByteBuf bytes;
            final long[] times;
            int done;
            int received;
            long start;

            Run(int rounds, int length) {
                byte[] random = new byte[length];
                new Random(length).nextBytes(random);
                bytes = Unpooled.directBuffer(length).writeBytes(random);
                times = new long[rounds];
            }
        }

        private ChannelHandlerContext context;
        private Run run;

        @Override
        public void handlerAdded(ChannelHandlerContext added) {
            context = added;
        }

        /** Nanoseconds of each round. */
        long[] run(int rounds, int length) throws IOException {
            Run next = new Run(rounds, length);
            context.executor().execute(() -> {
                run = next;
                send();
            });
            try {
                return next.result.get(LIMIT_SECONDS, TimeUnit.SECONDS);
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
                throw new IOException("interrupted", e);
            } catch (ExecutionException | TimeoutException e) {
                throw new IOException("the echo ends: " + e, e);
            }
        }

        private void send() {
            run.start = System.nanoTime();
            run.received = 0;
            context.writeAndFlush(run.bytes.retainedDuplicate(), context.voidPromise());
        }

        @Override
        public void channelRead(ChannelHandlerContext same, Object message) {
            ByteBuf part = (ByteBuf) message;
            try {
                int length = part.readableBytes();
                if (length > run.bytes.readableBytes() - run.received
                        || !ByteBufUtil.equals(run.bytes, run.received, part, part.readerIndex(), length)) {
                    run.result.completeExceptionally(new IOException("the echo differs from the bytes that were sent"));
                    return;
                }
                run.received += length;
            } finally {
                part.release();
            }
            if (run.received == run.bytes.readableBytes()) {
                run.times[run.done++] = System.nanoTime() - run.start;
                if (run.done < run.times.length) {
                    send();
                } else {
                    run.bytes.release();
                    run.result.complete(run.times);
                }
            }
        }

        @Override
        public void channelInactive(ChannelHandlerContext same) {
            if (run != null) {
                run.result.completeExceptionally(new IOException("the connection has ended"));
            }
        }
    }
}
