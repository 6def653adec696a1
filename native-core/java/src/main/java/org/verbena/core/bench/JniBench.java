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
import org.verbena.core.VbnKey;
import org.verbena.core.VbnMemory;
import org.verbena.core.VbnPeer;

/**
 * Measures what one operation costs between Java and the native core: submission, native call, completion, callback.
 * 16 are issued at once, the next 16 when they have completed. Two operations of an engine with itself, without another
 * thread or a wire:
 *
 * <ul>
 *   <li>{@code get}: 8 bytes of mapped memory; nearly nothing but submission and completion
 *   <li>{@code message}: 8 bytes to itself; a second event (the message) and the core's whole way take part
 * </ul>
 *
 * <p>Prints a JSON line for each: processor time of the engine's thread per operation in ns (median and quartiles of the
 * rounds) and bytes that it allocates on the Java heap per operation.
 */
public final class JniBench {
    private static final int BATCH = 16;
    private static final int BATCHES_PER_ROUND = 4096;
    private static final int WARM_UP_ROUNDS = 10;
    private static final int ROUNDS = 15;
    private static final int MESSAGE = 1;

    private final VbnEngine engine;
    private final String name;
    private final Runnable operation;
    private final Completion done = (error, length) -> completed(error);
    private final ThreadMXBean threads = (ThreadMXBean) ManagementFactory.getThreadMXBean();
    private final CompletableFuture<Void> finished = new CompletableFuture<>();
    private final double[] nanos = new double[ROUNDS];
    private final double[] bytes = new double[ROUNDS];
    private int pending;
    private int batches;
    private int round;
    private long startNanos;
    private long startBytes;

    private JniBench(VbnEngine engine, String name, java.util.function.Function<Completion, Runnable> operation) {
        this.engine = engine;
        this.name = name;
        this.operation = operation.apply(done);
    }

    /**
     * Runs the benchmark.
     *
     * @param arguments names of the operations to measure, all when empty
     * @throws Exception when the core cannot be used, or nothing moves for two minutes
     */
    public static void main(String[] arguments) throws Exception {
        VbnConfig config = new VbnConfig().set("tl.enable", "self").set("security.auth", "none");
        ByteBuffer buffer = ByteBuffer.allocateDirect(8);
        ByteBuffer[] payload = {buffer};
        for (String name : arguments.length > 0 ? arguments : new String[] {"get", "message"}) {
            try (VbnContext context = VbnContext.open(config); VbnEngine engine = context.startEngine("bench");
                    VbnMemory memory = context.allocate(4096)) {
                VbnPeer peer = engine.connect(engine.address(), null);
                VbnKey key = engine.importKey(peer, memory.exportKey(0, 4096, false));
                engine.onMessage(MESSAGE, message -> { });
                JniBench bench = new JniBench(engine, name, done -> switch (name) {
                    case "get" -> () -> engine.get(key, 0, buffer, done);
                    case "message" -> () -> engine.send(peer, MESSAGE, null, payload, done);
                    default -> throw new IllegalArgumentException("no operation " + name + "; there are get and message");
                });
                engine.execute(bench::startRound);
                bench.finished.get(2, TimeUnit.MINUTES);
                bench.print();
                key.close();
                peer.close();
            }
        }
    }

    private void startRound() {
        batches = 0;
        startBytes = threads.getThreadAllocatedBytes(Thread.currentThread().getId());
        startNanos = threads.getCurrentThreadCpuTime();
        batch();
    }

    private void batch() {
        pending = BATCH;
        for (int i = 0; i < BATCH; i++) {
            operation.run();
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
        double tookNanos = threads.getCurrentThreadCpuTime() - startNanos;
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
        System.out.printf(Locale.ROOT, "{\"name\":\"jni.%s\",\"batch\":%d,\"unit\":\"ns\",\"value\":%.1f,"
            + "\"q1\":%.1f,\"q3\":%.1f,\"rounds\":%d,\"java_bytes_per_operation\":%.2f}%n", name, BATCH,
            nanos[ROUNDS / 2], nanos[ROUNDS / 4], nanos[ROUNDS * 3 / 4], ROUNDS, bytes[ROUNDS / 2]);
    }
}
