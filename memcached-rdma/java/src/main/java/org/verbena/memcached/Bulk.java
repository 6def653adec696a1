// SPDX-License-Identifier: Apache-2.0
package org.verbena.memcached;

import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import org.verbena.memcached.MemcachedException.Kind;
import org.verbena.memcached.wire.Answer;
import org.verbena.memcached.wire.Request;

/**
 * A get of many keys: for each server lists of them, a few at once. All have one deadline. A server that fails ends its part only.
 */
final class Bulk {
    /** Lists of a server on their way. */
    private static final int WINDOW = 16;

    private final Cluster cluster;
    private final long deadline;
    private final Map<Server, Part> parts = new LinkedHashMap<>();
    private final Map<String, Value> found = new ConcurrentHashMap<>();
    private final AtomicInteger running = new AtomicInteger();
    private final AtomicReference<MemcachedException> failure = new AtomicReference<>();
    private final CompletableFuture<Map<String, Value>> future = new CompletableFuture<>();

    Bulk(Cluster cluster, long deadline) {
        this.cluster = cluster;
        this.deadline = deadline;
    }

    void add(String name, byte[] key) {
        Value value = AsyncMemcached.read(cluster, key);
        if (value != null) {
            found.put(name, value);
            return;
        }
        parts.computeIfAbsent(cluster.serverOf(key), Part::new).add(name, key);
    }

    /** Begins. The future ends with the values that were found, or with a {@link PartialException}. */
    CompletableFuture<Map<String, Value>> start() {
        running.set(parts.size());
        if (parts.isEmpty()) {
            future.complete(found);
        }
        parts.values().forEach(Part::advance);
        return future;
    }

    private void partDone() {
        if (running.decrementAndGet() > 0) {
            return;
        }
        MemcachedException first = failure.get();
        if (first == null) {
            future.complete(found);
        } else {
            future.completeExceptionally(new PartialException(first, found));
        }
    }

    /** The keys of a server. */
    private final class Part {
        private final Server server;
        private final List<String> names = new ArrayList<>();
        private final List<byte[]> keys = new ArrayList<>();
        private int next;
        private int lists;
        private boolean advancing;
        private boolean failed;
        private boolean done;

        Part(Server server) {
            this.server = server;
        }

        void add(String name, byte[] key) {
            names.add(name);
            keys.add(key);
        }

        /** Sends lists as long as there is room. One thread at a time; the others leave it to that one. */
        void advance() {
            for (int[] list = take(true); list != null; list = take(false)) {
                ask(list[0], list[1]);
            }
        }

        /** The next list, [from, to), or null; first: of a thread that has just come. */
        private int[] take(boolean first) {
            boolean end;
            synchronized (this) {
                if (first && advancing) {
                    return null;
                }
                advancing = !failed && next < keys.size() && lists < WINDOW;
                if (advancing) {
                    int from = next;
                    next = end(from);
                    lists++;
                    return new int[] {from, next};
                }
                end = !done && lists == 0 && (failed || next == keys.size());
                done |= end;
            }
            if (end) {
                partDone();
            }
            return null;
        }

        private int end(int from) {
            int bytes = 0;
            int at = from;
            while (at < keys.size() && at - from < Request.LIST_MAX && bytes + 1 + keys.get(at).length <= Request.LIST_BYTES) {
                bytes += 1 + keys.get(at).length;
                at++;
            }
            return at;
        }

        private void ask(int from, int to) {
            cluster.begin(Request.list(keys.subList(from, to)), server, deadline, null, (index, bytes, flags, cas) -> {
                found.put(names.get(from + index), new Value(copy(bytes), flags, cas));
                return null;
            }).whenComplete((answer, error) -> answered(from, to, answer, error));
        }

        private void answered(int from, int to, Answer answer, Throwable error) {
            MemcachedException wrong = error == null ? Cluster.failure(server, answer) : failureOf(error);
            if (wrong == null && answer.number() <= 0) {
                wrong = new MemcachedException(Kind.PROTOCOL, server.address + ": the server answers no key of a list");
            }
            if (wrong == null && answer.number() < to - from) {
                ask(from + (int) answer.number(), to); // the answer had no room for more
                return;
            }
            if (wrong != null) {
                failure.compareAndSet(null, wrong);
            }
            synchronized (this) {
                lists--;
                failed |= wrong != null;
            }
            advance();
        }

        private MemcachedException failureOf(Throwable error) {
            Throwable cause = error instanceof CompletionException && error.getCause() != null ? error.getCause() : error;
            return cause instanceof MemcachedException known ? known
                : new MemcachedException(Kind.PROTOCOL, server.address + ": " + cause);
        }
    }

    /** Copies a value that is valid during a call only. */
    static byte[] copy(ByteBuffer bytes) {
        byte[] copy = new byte[bytes.remaining()];
        bytes.get(copy);
        return copy;
    }
}
