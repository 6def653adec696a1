// SPDX-License-Identifier: Apache-2.0
package org.verbena.netty;

import io.netty.buffer.ByteBuf;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.atomic.AtomicLong;

/** Compares what comes with a pattern of Rig's, and keeps the events. */
final class Sink extends ChannelInboundHandlerAdapter {
    final AtomicLong received = new AtomicLong();
    final AtomicLong damaged = new AtomicLong();
    final List<String> events = new CopyOnWriteArrayList<>();
    final List<Throwable> failures = new CopyOnWriteArrayList<>();
    private final byte[] pattern;

    /** Expects the pattern, again and again. */
    Sink(byte[] pattern) {
        this.pattern = pattern;
    }

    @Override
    public void channelActive(ChannelHandlerContext context) {
        events.add("active");
    }

    @Override
    public void channelInactive(ChannelHandlerContext context) {
        events.add("inactive");
    }

    @Override
    public void channelRead(ChannelHandlerContext context, Object message) {
        ByteBuf bytes = (ByteBuf) message;
        try {
            long at = received.get();
            int length = bytes.readableBytes();
            byte[] copy = new byte[length]; // at once: the paranoid leak detector records each access
            bytes.readBytes(copy);
            for (int i = 0; i < length; i++) {
                if (copy[i] != pattern[(int) ((at + i) % pattern.length)]) {
                    damaged.incrementAndGet();
                }
            }
            received.addAndGet(length);
        } finally {
            bytes.release();
        }
    }

    @Override
    public void userEventTriggered(ChannelHandlerContext context, Object event) {
        events.add(event.getClass().getSimpleName());
    }

    @Override
    public void channelWritabilityChanged(ChannelHandlerContext context) {
        events.add(context.channel().isWritable() ? "writable" : "full");
    }

    @Override
    public void exceptionCaught(ChannelHandlerContext context, Throwable cause) {
        failures.add(cause);
    }

    void awaitReceived(long bytes) throws InterruptedException {
        Rig.await(bytes + " bytes", () -> received.get() >= bytes || events.contains("inactive"));
        if (received.get() != bytes || damaged.get() != 0) {
            throw new AssertionError("wanted " + bytes + " bytes, got " + received + ", " + damaged + " damaged, " + events
                + failures);
        }
    }
}
