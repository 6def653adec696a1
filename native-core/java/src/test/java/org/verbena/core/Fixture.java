// SPDX-License-Identifier: Apache-2.0
package org.verbena.core;

import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.function.BooleanSupplier;
import java.util.function.Consumer;

/** Contexts and engines of one test, closed in reverse order, and waits with time-outs. */
public final class Fixture implements AutoCloseable {
    public static final long TIMEOUT_SECONDS = 60;
    static final int ECHO = 1;
    static final int REPLY = 2;

    public final List<String> log = new CopyOnWriteArrayList<>();
    private final List<VbnContext> contexts = new ArrayList<>();

    public static byte[] jobKey(int seed) {
        byte[] key = new byte[32];
        new java.util.Random(seed).nextBytes(key);
        return key;
    }

    public VbnContext context(String transports) throws VbnException {
        return context(new VbnConfig().set("tl.enable", transports).jobKey(jobKey(1)));
    }

    public VbnContext context(VbnConfig config) throws VbnException {
        VbnContext context = VbnContext.open(config.log(line -> log.add(line.level() + " " + line.text())));
        contexts.add(context);
        return context;
    }

    /** The context opened first. */
    VbnContext first() {
        return contexts.get(0);
    }

    /** Sends every message of id ECHO back as REPLY: same header, same data. */
    static void serveEcho(VbnContext context, VbnEngine engine) {
        engine.onMessage(ECHO, message -> {
            VbnPeer peer = message.peer();
            byte[] header = new byte[message.header().remaining()];
            message.header().get(header);
            ByteBuffer data = ByteBuffer.allocateDirect((int) message.length());
            if (message.remote() == null) {
                data.put(message.data()).flip();
                engine.send(peer, REPLY, ByteBuffer.wrap(header), new ByteBuffer[] {data}, null);
            } else {
                engine.pull(message.remote(), data, (error, length) -> {
                    if (error == null) {
                        engine.send(peer, REPLY, ByteBuffer.wrap(header), new ByteBuffer[] {data}, null);
                    }
                });
            }
        });
    }

    /** What comes as a reply to an engine is pulled, if need be, and handed on. */
    static void onReplies(VbnEngine engine, Consumer<ByteBuffer> replies) throws VbnException {
        engine.onMessage(REPLY, message -> {
            ByteBuffer got = ByteBuffer.allocateDirect((int) message.length());
            if (message.remote() == null) {
                replies.accept(got.put(message.data()).flip());
            } else {
                engine.pull(message.remote(), got, (error, length) -> replies.accept(got));
            }
        });
    }

    /** A completion that can be waited for. */
    static final class Wait implements Completion {
        private final CompletableFuture<Long> result = new CompletableFuture<>();

        @Override
        public void complete(VbnException error, long length) {
            boolean first = error == null ? result.complete(length) : result.completeExceptionally(error);
            if (!first) {
                throw new AssertionError("completed twice");
            }
        }

        long get() throws Exception {
            return Fixture.get(result);
        }

        VbnException failure() throws Exception {
            try {
                result.get(TIMEOUT_SECONDS, TimeUnit.SECONDS);
                throw new AssertionError("the operation succeeded");
            } catch (ExecutionException e) {
                return (VbnException) e.getCause();
            }
        }
    }

    public static <T> T get(CompletableFuture<T> future) throws Exception {
        try {
            return future.get(TIMEOUT_SECONDS, TimeUnit.SECONDS);
        } catch (TimeoutException e) {
            throw new AssertionError("nothing came within " + TIMEOUT_SECONDS + " s", e);
        } catch (ExecutionException e) {
            throw e.getCause() instanceof Exception cause ? cause : e;
        }
    }

    public static void await(String what, BooleanSupplier condition) throws InterruptedException {
        long deadline = System.nanoTime() + TimeUnit.SECONDS.toNanos(TIMEOUT_SECONDS);
        while (!condition.getAsBoolean()) {
            if (System.nanoTime() > deadline) {
                throw new AssertionError("not within " + TIMEOUT_SECONDS + " s: " + what);
            }
            Thread.sleep(5);
        }
    }

    public static ByteBuffer pattern(int bytes, int seed) {
        ByteBuffer buffer = ByteBuffer.allocateDirect(bytes);
        for (int i = 0; i < bytes; i++) {
            buffer.put(i, (byte) (i * 31 + seed + (i >> 8)));
        }
        return buffer;
    }

    @Override
    public void close() {
        for (int i = contexts.size() - 1; i >= 0; i--) {
            contexts.get(i).close();
        }
    }
}
