// SPDX-License-Identifier: Apache-2.0
package org.verbena.memcached.bench;

import com.sun.management.ThreadMXBean;
import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.nio.ByteBuffer;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import org.verbena.memcached.MemcachedClient;

/**
 * Measures blocking calls of one thread with a value of 1 KB: a get into memory of the caller's, a get of bytes and a set, by
 * one-sided reads, messages and sockets. Prints a JSON line for each: time of a call in us (median and quartiles of the rounds),
 * and bytes that the calling thread allocates on the Java heap. Usage: {@code ClientBench HOST:PORT[;key=FILE]}; ways that the
 * server does not have are left out.
 */
public final class ClientBench {
    private static final int VALUE_BYTES = 1024;
    private static final int WARM_UP_ROUNDS = 10;
    private static final int ROUNDS = 15;
    private static final String KEY = "bench";
    private static final List<String> WAYS =
        List.of(";carrier=messages", ";carrier=messages;onesided=off", ";carrier=sockets");

    /** A call that is measured. */
    @FunctionalInterface
    private interface Operation {
        void run() throws IOException;
    }

    private ClientBench() {
    }

    /**
     * Runs it.
     *
     * @param arguments the server
     */
    public static void main(String[] arguments) throws IOException {
        if (arguments.length != 1) {
            System.err.println("usage: ClientBench HOST:PORT[;key=FILE]");
            System.exit(2);
        }
        for (String way : WAYS) {
            try (MemcachedClient client = MemcachedClient.open(arguments[0] + way)) {
                measure(client, way);
            } catch (IOException e) {
                System.err.println(way.substring(1) + " is left out: " + e.getMessage());
            }
        }
    }

    private static void measure(MemcachedClient client, String way) throws IOException {
        ByteBuffer value = ByteBuffer.allocateDirect(VALUE_BYTES);
        ByteBuffer memory = ByteBuffer.allocateDirect(VALUE_BYTES);
        int calls = way.contains("sockets") ? 1000 : 20_000;
        client.set(KEY, value, 0, 0);
        row(client, "get into memory", calls, () -> client.get(KEY, memory));
        row(client, "get", calls, () -> client.get(KEY));
        row(client, "set", calls, () -> client.set(KEY, value, 0, 0));
        client.delete(KEY);
    }

    private static void row(MemcachedClient client, String name, int calls, Operation operation) throws IOException {
        ThreadMXBean threads = (ThreadMXBean) ManagementFactory.getThreadMXBean();
        double[] micros = new double[ROUNDS];
        long allocated = 0;
        for (int round = -WARM_UP_ROUNDS; round < ROUNDS; round++) {
            long bytes = threads.getCurrentThreadAllocatedBytes();
            long start = System.nanoTime();
            for (int i = 0; i < calls; i++) {
                operation.run();
            }
            if (round >= 0) {
                micros[round] = (System.nanoTime() - start) / 1e3 / calls;
                allocated = (threads.getCurrentThreadAllocatedBytes() - bytes) / calls;
            }
        }
        Arrays.sort(micros);
        String how = client.explain().get(0).replaceAll("^.*?:\\d+: | through the core.*|;.*", "");
        System.out.printf(Locale.ROOT,
            "{\"call\": \"%s\", \"way\": \"%s\", \"us\": %.2f, \"us_q1\": %.2f, \"us_q3\": %.2f, \"heap_bytes\": %d}%n",
            name, how, micros[ROUNDS / 2], micros[ROUNDS / 4], micros[3 * ROUNDS / 4], allocated);
    }
}
