// SPDX-License-Identifier: Apache-2.0
package org.verbena.memcached;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.OptionalLong;
import java.util.concurrent.CompletableFuture;
import org.verbena.memcached.config.ClientConfig;

/**
 * A client of one or several memcached servers, for all threads of a program. Keys have the servers that the C client and
 * libmemcached (KETAMA_WEIGHTED) give them.
 *
 * <p>Each call, single or bulk, ends within the option {@code timeout}; an interrupt does not end it, and stays set. Calls throw
 * {@link MemcachedException}, which names the server and the cause. Arguments are those of {@link AsyncMemcached}; a call that
 * returns has done with the caller's buffers.
 */
public final class MemcachedClient implements AutoCloseable {
    private final Cluster cluster;
    private final AsyncMemcached async;

    private MemcachedClient(Cluster cluster) {
        this.cluster = cluster;
        async = new AsyncMemcached(cluster);
    }

    /**
     * Opens a client. Servers are connected when a call needs them.
     *
     * @param config servers and options: {@code "host:port,host:port;timeout=1000;onesided=off"}; docs/memcached.md has the table
     * @return the client, to be closed by the caller
     * @throws IllegalArgumentException when the text is wrong; the message has the cure
     * @throws IOException when the process has no descriptors left
     */
    public static MemcachedClient open(String config) throws IOException {
        return new MemcachedClient(new Cluster(new ClientConfig(config)));
    }

    /** Returns the same calls as futures. */
    public AsyncMemcached async() {
        return async;
    }

    /** Returns a line for each server: the way of its requests, and why it is this one. */
    public List<String> explain() {
        return cluster.servers().stream().map(Server::explain).toList();
    }

    Cluster cluster() {
        return cluster;
    }

    private <T> T wait(CompletableFuture<T> future) throws MemcachedException {
        return cluster.await(future, cluster.deadline());
    }

    /** As {@link AsyncMemcached#get(String)}; null: there is no value. */
    public Value get(String key) throws MemcachedException {
        return wait(async.get(key));
    }

    /** As {@link AsyncMemcached#getAndTouch}; null: there is no value. */
    public Value getAndTouch(String key, int ttlSeconds) throws MemcachedException {
        return wait(async.getAndTouch(key, ttlSeconds));
    }

    /** As {@link AsyncMemcached#get(String, ByteBuffer)}; null: there is no value. */
    public Received get(String key, ByteBuffer destination) throws MemcachedException {
        return wait(async.get(key, destination));
    }

    /** As {@link AsyncMemcached#getAll}. */
    public Map<String, Value> getAll(Collection<String> keys) throws MemcachedException {
        return wait(async.getAll(keys));
    }

    /** Stores a value for ever, without flags. */
    public Stored set(String key, byte[] value) throws MemcachedException {
        return set(key, value, 0, 0);
    }

    /** As {@link AsyncMemcached#set}. */
    public Stored set(String key, byte[] value, int ttlSeconds, int flags) throws MemcachedException {
        return set(key, ByteBuffer.wrap(value), ttlSeconds, flags);
    }

    /** As {@link AsyncMemcached#set}. */
    public Stored set(String key, ByteBuffer value, int ttlSeconds, int flags) throws MemcachedException {
        return wait(async.set(key, value, ttlSeconds, flags));
    }

    /** As {@link AsyncMemcached#add}. */
    public Stored add(String key, byte[] value, int ttlSeconds, int flags) throws MemcachedException {
        return add(key, ByteBuffer.wrap(value), ttlSeconds, flags);
    }

    /** As {@link AsyncMemcached#add}. */
    public Stored add(String key, ByteBuffer value, int ttlSeconds, int flags) throws MemcachedException {
        return wait(async.add(key, value, ttlSeconds, flags));
    }

    /** As {@link AsyncMemcached#replace}. */
    public Stored replace(String key, byte[] value, int ttlSeconds, int flags) throws MemcachedException {
        return replace(key, ByteBuffer.wrap(value), ttlSeconds, flags);
    }

    /** As {@link AsyncMemcached#replace}. */
    public Stored replace(String key, ByteBuffer value, int ttlSeconds, int flags) throws MemcachedException {
        return wait(async.replace(key, value, ttlSeconds, flags));
    }

    /** As {@link AsyncMemcached#append}. */
    public Stored append(String key, byte[] more) throws MemcachedException {
        return append(key, ByteBuffer.wrap(more));
    }

    /** As {@link AsyncMemcached#append}. */
    public Stored append(String key, ByteBuffer more) throws MemcachedException {
        return wait(async.append(key, more));
    }

    /** As {@link AsyncMemcached#prepend}. */
    public Stored prepend(String key, byte[] more) throws MemcachedException {
        return prepend(key, ByteBuffer.wrap(more));
    }

    /** As {@link AsyncMemcached#prepend}. */
    public Stored prepend(String key, ByteBuffer more) throws MemcachedException {
        return wait(async.prepend(key, more));
    }

    /** As {@link AsyncMemcached#cas}. */
    public Stored cas(String key, byte[] value, int ttlSeconds, int flags, long cas) throws MemcachedException {
        return cas(key, ByteBuffer.wrap(value), ttlSeconds, flags, cas);
    }

    /** As {@link AsyncMemcached#cas}. */
    public Stored cas(String key, ByteBuffer value, int ttlSeconds, int flags, long cas) throws MemcachedException {
        return wait(async.cas(key, value, ttlSeconds, flags, cas));
    }

    /** As {@link AsyncMemcached#setPinned}, for ever and without flags. */
    public Stored setPinned(String key, byte[] value) throws MemcachedException {
        return setPinned(key, ByteBuffer.wrap(value), 0, 0);
    }

    /** As {@link AsyncMemcached#setPinned}. */
    public Stored setPinned(String key, ByteBuffer value, int ttlSeconds, int flags) throws MemcachedException {
        return wait(async.setPinned(key, value, ttlSeconds, flags));
    }

    /** As {@link AsyncMemcached#release}. */
    public boolean release(String key) throws MemcachedException {
        return wait(async.release(key));
    }

    /** As {@link AsyncMemcached#delete}. */
    public boolean delete(String key) throws MemcachedException {
        return wait(async.delete(key));
    }

    /** As {@link AsyncMemcached#touch}. */
    public boolean touch(String key, int ttlSeconds) throws MemcachedException {
        return wait(async.touch(key, ttlSeconds));
    }

    /** As {@link AsyncMemcached#increment}. */
    public OptionalLong increment(String key, long difference) throws MemcachedException {
        return wait(async.increment(key, difference));
    }

    /** As {@link AsyncMemcached#decrement}. */
    public OptionalLong decrement(String key, long difference) throws MemcachedException {
        return wait(async.decrement(key, difference));
    }

    /** Ends the connections; calls on their way fail with {@link MemcachedException.Kind#CLOSED}. Idempotent. */
    @Override
    public void close() {
        cluster.close();
    }
}
