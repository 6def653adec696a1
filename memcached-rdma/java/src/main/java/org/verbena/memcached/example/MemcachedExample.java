// SPDX-License-Identifier: Apache-2.0
package org.verbena.memcached.example;

import java.io.IOException;
import java.io.PrintStream;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import org.verbena.memcached.MemcachedClient;
import org.verbena.memcached.Received;
import org.verbena.memcached.Stored;
import org.verbena.memcached.Value;

/** The client in one page: {@code java -cp memcached-rdma-0.1.0.jar org.verbena.memcached.example.MemcachedExample HOST:PORT}. */
public final class MemcachedExample {
    private MemcachedExample() {
    }

    /**
     * Runs it.
     *
     * @param arguments servers and options, as {@link MemcachedClient#open} takes them
     */
    public static void main(String[] arguments) throws IOException {
        run(arguments.length == 0 ? "127.0.0.1:11211" : arguments[0], System.out);
    }

    /**
     * Runs it.
     *
     * @param config servers and options
     * @param out takes what it has to say
     */
    public static void run(String config, PrintStream out) throws IOException {
        try (MemcachedClient client = MemcachedClient.open(config)) {
            client.set("example", "a value".getBytes(StandardCharsets.UTF_8), 60, 7);
            Value value = client.get("example");
            out.println("example: '" + new String(value.bytes(), StandardCharsets.UTF_8) + "', flags " + value.flags());

            Stored stored = client.cas("example", new byte[1024], 60, 0, value.cas());
            out.println("stored over that value only: " + stored);

            ByteBuffer memory = ByteBuffer.allocateDirect(4096); // may be used again as soon as the call has returned
            Received received = client.get("example", memory);
            out.println("in the caller's memory: " + received.length() + " bytes");

            CompletableFuture<Stored> other = client.async().set("other", ByteBuffer.wrap(new byte[10]), 60, 0);
            Map<String, Value> found = other.thenCompose(done -> client.async().getAll(List.of("example", "other", "missing")))
                .join();
            out.println("of three keys there are " + found.size());
            client.delete("example");
            client.delete("other");
            client.explain().forEach(out::println);
        }
    }
}
