// SPDX-License-Identifier: Apache-2.0
package org.verbena.core.bench;

import com.sun.management.ThreadMXBean;
import java.lang.management.ManagementFactory;
import java.nio.ByteBuffer;
import java.util.Arrays;
import java.util.Locale;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.verbena.core.Completion;
import org.verbena.core.VbnConfig;
import org.verbena.core.VbnContext;
import org.verbena.core.VbnEngine;
import org.verbena.core.VbnException;
import org.verbena.core.VbnPeer;

/**
 * Measures what one operation costs between Java and the native core: submission, native call, completion, callback.
 * The operation is an 8-byte message of an engine to itself: no other thread and no wire takes part. 16 are issued at
 * once, the next 16 when they have completed. Prints one JSON line: ns per operation (median and quartiles of the
 * rounds) and bytes that the engine's thread allocates on the Java heap per operation.
 */
public final class JniBench {
    private static final int BATCH = 16;
    private static final int BATCHES_PER_ROUND = 4096;
    private static final int WARM_UP_ROUNDS = 10;
    private static final int ROUNDS = 15;
    private static final int MESSAGE = 1;

    private final VbnEngine engine;
    private final VbnPeer peer;
    private final ThreadMXBean threads = (ThreadMXBean) ManagementFactory.getThreadMXBean();
    private final ByteBuffer[] payload = {ByteBuffer.allocateDirect(8)};
    private final Completion done = (error, length) -> completed(error);
    private final CompletableFuture<Void> finished = new CompletableFuture<>();
    private final double[] nanos = new double[ROUNDS];
    private final double[] bytes = new double[ROUNDS];
    private int pending;
    private int batches;
    private int round;
    private long startNanos;
    private long startBytes;

    private JniBench(VbnEngine engine) throws VbnException {
        this.engine = engine;
        peer = engine.connect(engine.address(), null);
        engine.onMessage(MESSAGE, message -> { });
    }

    /**
     * Runs the benchmark.
     *
     * @param arguments none
     * @throws Exception when the core cannot be used, or nothing moves for two minutes
     */
    public static void main(String[] arguments) throws Exception {
        VbnConfig config = new VbnConfig().set("tl.enable", "self").set("security.auth", "none");
        try (VbnContext context = VbnContext.open(config); VbnEngine engine = context.startEngine("bench")) {
            JniBench bench = new JniBench(engine);
            engine.execute(bench::startRound);
            bench.finished.get(2, TimeUnit.MINUTES);
            bench.print();
            bench.peer.close();
        }
    }

    private void startRound() {
        batches = 0;
        startBytes = threads.getThreadAllocatedBytes(Thread.currentThread().getId());
        startNanos = System.nanoTime();
        batch();
    }

    private void batch() {
        pending = BATCH;
        for (int i = 0; i < BATCH; i++) {
            engine.send(peer, MESSAGE, null, payload, done);
        }
    }

    private void completed(VbnException error) {
        if (error != null) {
            finished.completeExceptionally(error);
        } else if (--pending == 0) {
            if (++batches < BATCHES_PER_ROUND) {
                batch();
            } else {
                endRound();
            }
        }
    }

    private void endRound() {
        double operations = (double) BATCH * BATCHES_PER_ROUND;
        double tookNanos = System.nanoTime() - startNanos;
        double tookBytes = threads.getThreadAllocatedBytes(Thread.currentThread().getId()) - startBytes;
        int measured = round++ - WARM_UP_ROUNDS;
        if (measured >= 0) {
            nanos[measured] = tookNanos / operations;
            bytes[measured] = tookBytes / operations;
        }
        if (round < WARM_UP_ROUNDS + ROUNDS) {
            engine.execute(this::startRound); // not from here: the stack must not grow
        } else {
            finished.complete(null);
        }
    }

    private void print() {
        Arrays.sort(nanos);
        Arrays.sort(bytes);
        System.out.printf(Locale.ROOT, "{\"name\":\"jni.operation\",\"batch\":%d,\"unit\":\"ns\",\"value\":%.1f,"
            + "\"q1\":%.1f,\"q3\":%.1f,\"rounds\":%d,\"java_bytes_per_operation\":%.2f}%n", BATCH, nanos[ROUNDS / 2],
            nanos[ROUNDS / 4], nanos[ROUNDS * 3 / 4], ROUNDS, bytes[ROUNDS / 2]);
    }
}
