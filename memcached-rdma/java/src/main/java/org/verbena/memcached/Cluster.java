// SPDX-License-Identifier: Apache-2.0
package org.verbena.memcached;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.locks.LockSupport;
import org.verbena.core.VbnEngine;
import org.verbena.core.plugin.BoundedPool;
import org.verbena.memcached.MemcachedException.Kind;
import org.verbena.memcached.config.ClientConfig;
import org.verbena.memcached.config.Ring;
import org.verbena.memcached.wire.Answer;
import org.verbena.memcached.wire.Request;

/** The servers of a client, its thread and its memory: begins calls and waits for them. Any thread. */
final class Cluster implements AutoCloseable {
    private static final long MS = 1_000_000;
    /** A waiting thread looks again: the engine may have ended. */
    private static final long PARK_MOST = 200 * MS;
    /** Of values on their way. */
    private static final long VALUES_MOST = 256L << 20;
    private static final long VALUES_KEPT = 16L << 20;

    final Counters counters = new Counters();
    private final ClientConfig config;
    private final Ring ring;
    private final Loop loop;
    private final List<Server> servers;
    private final Nets nets;
    private final BoundedPool values = new BoundedPool(VALUES_MOST, VALUES_KEPT, 0);

    Cluster(ClientConfig config) throws IOException {
        this.config = config;
        nets = new Nets(counters, Server.CALLS_MAX * config.servers().size());
        ring = new Ring(config.servers());
        loop = new Loop(this::check, this::end);
        servers = config.servers().stream().map(address -> new Server(address, config, loop, counters,
            server -> new Join(server, loop, nets, values))).toList();
        loop.start();
    }

    private void check(long now) {
        servers.forEach(server -> server.check(now));
    }

    private void end() {
        servers.forEach(Server::close);
    }

    List<Server> servers() {
        return servers;
    }

    Server serverOf(byte[] key) {
        return servers.get(ring.find(key));
    }

    /** Bytes of values on their way. */
    long valueBytes() {
        return values.used();
    }

    /** The end of a call that begins now, a time of {@link Loop#now}. */
    long deadline() {
        return Loop.now() + config.timeoutMs() * MS;
    }

    /**
     * Begins a call.
     *
     * @param value copied; null if there is none
     * @param sink takes values; null if none come
     */
    CompletableFuture<Answer> begin(Request request, Server server, long deadline, ByteBuffer value, ValueSink sink) {
        ByteBuffer copy = null;
        if (value != null && value.hasRemaining()) {
            copy = values.tryTake(value.remaining());
            if (copy == null) {
                return CompletableFuture.failedFuture(noMemory(server, value.remaining()));
            }
            copy.put(value.duplicate()).flip();
        }
        Call call = new Call(request, server, deadline, copy, values::give, sink);
        server.start(call);
        return call.future;
    }

    private MemcachedException noMemory(Server server, int bytes) {
        return new MemcachedException(Kind.BUSY, server.address + ": no memory for a value of " + bytes + " bytes: " + values.used()
            + " bytes of values are on their way, and at most " + VALUES_MOST
            + " may be; store fewer at once, or raise -XX:MaxDirectMemorySize");
    }

    /** The failure that an answer to a pin or a release is, or null. */
    static MemcachedException pinFailure(Server server, Answer answer) {
        if (answer.status() == Answer.Status.INVALID && answer.text().startsWith("CLIENT_ERROR")) {
            return new MemcachedException(Kind.NO_PINS, server.address + ": the server has no pinned items (" + answer.text()
                + "): use verbena-memcached");
        }
        if (answer.status() == Answer.Status.NO_MEMORY && (answer.text().isEmpty() || answer.text().contains("pinned items"))) {
            return new MemcachedException(Kind.SERVER_MEMORY, server.address
                + ": pinned items have used up their share: release some, or raise -o verbena_pinned or -m of the server");
        }
        return failure(server, answer);
    }

    /** The failure that an answer is, or null. */
    static MemcachedException failure(Server server, Answer answer) {
        Kind kind = switch (answer.status()) {
            case TOO_LARGE -> Kind.TOO_LARGE;
            case NO_MEMORY -> Kind.SERVER_MEMORY;
            case NON_NUMERIC -> Kind.NON_NUMERIC;
            case INVALID -> Kind.PROTOCOL;
            default -> null;
        };
        if (kind == null) {
            return null;
        }
        String words = switch (kind) {
            case TOO_LARGE -> "the value is larger than the server takes: raise its -I";
            case SERVER_MEMORY -> "the server has no memory for the value: raise its -m";
            case NON_NUMERIC -> "the value of the key is no number";
            default -> "the server refuses the request";
        };
        return new MemcachedException(kind, server.address + ": " + words
            + (answer.text().isEmpty() ? "" : " (" + answer.text() + ")"));
    }

    /**
     * Waits for a call. An interrupt does not end the wait, which the time of the call bounds; the flag stays set.
     *
     * @param deadline of the calls that the future waits for
     */
    <T> T await(CompletableFuture<T> future, long deadline) throws MemcachedException {
        VbnEngine engine = nets.first();
        if (loop.isMine() || engine != null && engine.inEngine()) {
            throw new IllegalStateException("this function runs on the client's thread, which a blocking call would stop: use the "
                + "calls of async(), or thenApplyAsync and the like");
        }
        boolean interrupted = false;
        if (!future.isDone()) {
            Thread me = Thread.currentThread();
            future.whenComplete((result, error) -> unpark(engine, me));
            while (!future.isDone()) {
                long left = deadline - Loop.now();
                if (left <= 0) {
                    long now = Loop.now();
                    servers.forEach(server -> server.expire(now));
                }
                park(engine, future, Math.min(Math.max(left, MS), PARK_MOST));
                interrupted |= Thread.interrupted();
            }
        }
        if (interrupted) {
            Thread.currentThread().interrupt();
        }
        return result(future);
    }

    /** Who waits drives the core's engine meanwhile. */
    private void park(VbnEngine engine, CompletableFuture<?> future, long nanos) {
        if (engine != null) {
            engine.park(future::isDone, nanos);
        } else {
            LockSupport.parkNanos(this, nanos);
        }
    }

    private static void unpark(VbnEngine engine, Thread thread) {
        if (engine != null) {
            engine.unpark(thread);
        } else {
            LockSupport.unpark(thread);
        }
    }

    private static <T> T result(CompletableFuture<T> future) throws MemcachedException {
        try {
            return future.join();
        } catch (CompletionException e) {
            Throwable cause = e.getCause() == null ? e : e.getCause();
            if (cause instanceof MemcachedException failure) {
                MemcachedException own = failure instanceof PartialException partial
                    ? new PartialException(partial, partial.found()) : new MemcachedException(failure.kind(), failure.getMessage());
                own.addSuppressed(failure); // with the stack of this thread
                throw own;
            }
            throw new IllegalStateException(cause);
        }
    }

    @Override
    public void close() {
        loop.close();
        nets.close();
        servers.forEach(Server::abandon);
        values.close();
    }
}
