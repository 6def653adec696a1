// SPDX-License-Identifier: Apache-2.0
package org.verbena.memcached;

import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.Collection;
import java.util.Map;
import java.util.Objects;
import java.util.OptionalLong;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.atomic.AtomicReference;
import org.verbena.memcached.MemcachedException.Kind;
import org.verbena.memcached.read.StoreReader;
import org.verbena.memcached.wire.Answer;
import org.verbena.memcached.wire.Request;

/**
 * The calls of {@link MemcachedClient} as futures. Each ends within the client's time, with a {@link MemcachedException} if it
 * fails. Functions that depend on a future run on a thread of the client, or on any thread in a call of it. They must neither
 * block nor take locks; {@code thenApplyAsync} and the like may. Any thread; calls that a thread begins for one key are carried
 * out in their order.
 *
 * <p>Values to be stored are copied before a call returns, whatever kind of buffer they are in. Keys are 1 to 250 bytes of UTF-8
 * without blanks and control characters; others are an {@link IllegalArgumentException}. Times to live are seconds, as memcached
 * takes them: 0 for ever, more than 30 days a date, less than 0 at once.
 */
public final class AsyncMemcached {
    private final Cluster cluster;

    AsyncMemcached(Cluster cluster) {
        this.cluster = cluster;
    }

    static byte[] bytesOf(String key) {
        byte[] bytes = key.getBytes(StandardCharsets.UTF_8);
        if (!Request.isKey(bytes)) {
            throw new IllegalArgumentException("key of " + bytes.length
                + " bytes: give 1 to 250 bytes without blanks and control characters");
        }
        return bytes;
    }

    private CompletableFuture<Answer> begin(Request request, ByteBuffer value, ValueSink sink) {
        Server server = cluster.serverOf(request.key());
        return cluster.begin(request, server, cluster.deadline(), value, sink).thenApply(answer -> {
            MemcachedException failure = request.pinned() ? Cluster.pinFailure(server, answer) : Cluster.failure(server, answer);
            if (failure != null) {
                throw new CompletionException(failure);
            }
            return answer;
        });
    }

    // --------------------------------------------------------------------------------------------- get

    private CompletableFuture<Value> get(Request.Kind kind, String key, int ttlSeconds) {
        AtomicReference<Value> value = new AtomicReference<>();
        return begin(Request.of(kind, bytesOf(key), ttlSeconds), null, (index, bytes, flags, cas) -> {
            value.set(new Value(Bulk.copy(bytes), flags, cas));
            return null;
        }).thenApply(answer -> value.get());
    }

    /**
     * Gets a value.
     *
     * @param key the key
     * @return ends with the value, or null: there is none
     */
    public CompletableFuture<Value> get(String key) {
        Value value = read(cluster, bytesOf(key));
        return value != null ? CompletableFuture.completedFuture(value) : get(Request.Kind.GET, key, 0);
    }

    /** Reads a value from the server's memory; null: it is to be asked for. */
    static Value read(Cluster cluster, byte[] key) {
        byte[][] bytes = new byte[1][];
        StoreReader.Item item = cluster.serverOf(key).read(key, length -> {
            bytes[0] = new byte[length];
            return ByteBuffer.wrap(bytes[0]);
        });
        return item == null ? null : new Value(bytes[0], item.flags(), item.cas());
    }

    /**
     * Gets a value and sets its time to live.
     *
     * @param key the key
     * @param ttlSeconds the new time to live
     * @return ends with the value, or null: there is none
     */
    public CompletableFuture<Value> getAndTouch(String key, int ttlSeconds) {
        return get(Request.Kind.GET_AND_TOUCH, key, ttlSeconds);
    }

    /**
     * Gets a value into a buffer of the caller's, which belongs to the client until the future has ended by itself. The bytes
     * begin at the position, which does not move; the limit bounds them. A call that fails may have written some of them.
     *
     * @param key the key
     * @param destination direct or not
     * @return ends with what belongs to the value, or null: there is none; with {@link Kind#TRUNCATED} if there is no room
     */
    public CompletableFuture<Received> get(String key, ByteBuffer destination) {
        byte[] bytesOfKey = bytesOf(key);
        if (destination.isReadOnly()) {
            throw new IllegalArgumentException("the destination is a read-only buffer");
        }
        ByteBuffer to = destination.duplicate();
        StoreReader.Item item = cluster.serverOf(bytesOfKey).read(bytesOfKey, length -> length > to.remaining() ? null : to);
        if (item != null) {
            return CompletableFuture.completedFuture(new Received(item.valueBytes(), item.flags(), item.cas()));
        }
        AtomicReference<Received> received = new AtomicReference<>();
        return begin(Request.of(Request.Kind.GET, bytesOfKey, 0), null, (index, bytes, flags, cas) -> {
            int length = bytes.remaining();
            if (length > to.remaining()) {
                return new MemcachedException(Kind.TRUNCATED, "the value has " + length + " bytes, and the buffer has room for "
                    + to.remaining() + ": give a larger one");
            }
            to.duplicate().put(bytes);
            received.set(new Received(length, flags, cas));
            return null;
        }).thenApply(answer -> received.get());
    }

    /**
     * Gets many values.
     *
     * @param keys the keys, of any servers
     * @return ends with the values that there are, or with a {@link PartialException}, which has those of the other servers
     */
    public CompletableFuture<Map<String, Value>> getAll(Collection<String> keys) {
        Bulk bulk = new Bulk(cluster, cluster.deadline());
        keys.stream().distinct().forEach(key -> bulk.add(key, bytesOf(key)));
        return bulk.start();
    }

    // ------------------------------------------------------------------------------------------- store

    private CompletableFuture<Stored> put(Request.Mode mode, String key, ByteBuffer value, int ttlSeconds, int flags, long cas) {
        return put(Request.put(mode, bytesOf(key), ttlSeconds, flags, cas), value);
    }

    private CompletableFuture<Stored> put(Request request, ByteBuffer value) {
        return begin(request, Objects.requireNonNull(value, "value"), null).thenApply(answer -> switch (answer.status()) {
            case OK -> Stored.STORED;
            case EXISTS -> Stored.EXISTS;
            case NOT_FOUND -> Stored.NOT_FOUND;
            default -> Stored.NOT_STORED;
        });
    }

    /**
     * Stores a value.
     *
     * @param key the key
     * @param value its bytes [position, limit), copied
     * @param ttlSeconds the time to live
     * @param flags kept with the value
     * @return ends with {@link Stored#STORED}
     */
    public CompletableFuture<Stored> set(String key, ByteBuffer value, int ttlSeconds, int flags) {
        return put(Request.Mode.SET, key, value, ttlSeconds, flags, 0);
    }

    /**
     * Stores a value if there is none with the key.
     *
     * @param key the key
     * @param value its bytes [position, limit), copied
     * @param ttlSeconds the time to live
     * @param flags kept with the value
     * @return ends with {@link Stored#STORED} or {@link Stored#NOT_STORED}
     */
    public CompletableFuture<Stored> add(String key, ByteBuffer value, int ttlSeconds, int flags) {
        return put(Request.Mode.ADD, key, value, ttlSeconds, flags, 0);
    }

    /**
     * Stores a value if there is one with the key.
     *
     * @param key the key
     * @param value its bytes [position, limit), copied
     * @param ttlSeconds the time to live
     * @param flags kept with the value
     * @return ends with {@link Stored#STORED} or {@link Stored#NOT_STORED}
     */
    public CompletableFuture<Stored> replace(String key, ByteBuffer value, int ttlSeconds, int flags) {
        return put(Request.Mode.REPLACE, key, value, ttlSeconds, flags, 0);
    }

    /**
     * Adds bytes to the end of a value, whose flags and time to live stay.
     *
     * @param key the key
     * @param more the bytes [position, limit), copied
     * @return ends with {@link Stored#STORED} or {@link Stored#NOT_STORED}: there is no value
     */
    public CompletableFuture<Stored> append(String key, ByteBuffer more) {
        return put(Request.Mode.APPEND, key, more, 0, 0, 0);
    }

    /**
     * Puts bytes before a value, whose flags and time to live stay.
     *
     * @param key the key
     * @param more the bytes [position, limit), copied
     * @return ends with {@link Stored#STORED} or {@link Stored#NOT_STORED}: there is no value
     */
    public CompletableFuture<Stored> prepend(String key, ByteBuffer more) {
        return put(Request.Mode.PREPEND, key, more, 0, 0, 0);
    }

    /**
     * Stores a value if nobody has changed the one that the caller has read.
     *
     * @param key the key
     * @param value its bytes [position, limit), copied
     * @param ttlSeconds the time to live
     * @param flags kept with the value
     * @param cas {@link Value#cas} of the value that was read
     * @return ends with {@link Stored#STORED}, {@link Stored#EXISTS} or {@link Stored#NOT_FOUND}
     */
    public CompletableFuture<Stored> cas(String key, ByteBuffer value, int ttlSeconds, int flags, long cas) {
        return put(Request.Mode.CAS, key, value, ttlSeconds, flags, cas);
    }

    // ------------------------------------------------------------------------------------------ pinned items

    /**
     * Stores a value that the server does not evict until {@link #release}. A delete and its time to live end it as any other.
     *
     * @param key the key
     * @param value its bytes [position, limit), copied
     * @param ttlSeconds the time to live
     * @param flags kept with the value
     * @return ends with {@link Stored#STORED}; with {@link Kind#SERVER_MEMORY} if pinned items have used up their share, where the
     *     old value stays; with {@link Kind#NO_PINS} if the server has no pinned items
     */
    public CompletableFuture<Stored> setPinned(String key, ByteBuffer value, int ttlSeconds, int flags) {
        return put(Request.put(Request.Mode.SET, bytesOf(key), ttlSeconds, flags, 0).pin(), value);
    }

    /**
     * Releases a pinned item, which stays as one that may be evicted.
     *
     * @param key the key, also of an item that is not pinned
     * @return ends with false if there is no item; with {@link Kind#NO_PINS} if the server has no pinned items
     */
    public CompletableFuture<Boolean> release(String key) {
        return simple(Request.release(bytesOf(key)));
    }

    // ------------------------------------------------------------------------------------------ others

    private CompletableFuture<Boolean> simple(Request.Kind kind, String key, int ttlSeconds) {
        return simple(Request.of(kind, bytesOf(key), ttlSeconds));
    }

    private CompletableFuture<Boolean> simple(Request request) {
        return begin(request, null, null).thenApply(answer -> answer.status() == Answer.Status.OK);
    }

    /**
     * Deletes a value.
     *
     * @param key the key
     * @return ends with false if there is none
     */
    public CompletableFuture<Boolean> delete(String key) {
        return simple(Request.Kind.DELETE, key, 0);
    }

    /**
     * Sets the time to live of a value.
     *
     * @param key the key
     * @param ttlSeconds the new time to live
     * @return ends with false if there is no value
     */
    public CompletableFuture<Boolean> touch(String key, int ttlSeconds) {
        return simple(Request.Kind.TOUCH, key, ttlSeconds);
    }

    private CompletableFuture<OptionalLong> delta(Request.Kind kind, String key, long difference) {
        return begin(Request.delta(kind, bytesOf(key), difference), null, null)
            .thenApply(answer -> answer.status() == Answer.Status.OK ? OptionalLong.of(answer.number()) : OptionalLong.empty());
    }

    /**
     * Adds to a value that is a decimal number of 64 bits without sign.
     *
     * @param key the key
     * @param difference without sign
     * @return ends with the new number, empty if there is no value; with {@link Kind#NON_NUMERIC} if the value is no number
     */
    public CompletableFuture<OptionalLong> increment(String key, long difference) {
        return delta(Request.Kind.INCREMENT, key, difference);
    }

    /**
     * Takes from a value that is a decimal number; the result is not less than 0.
     *
     * @param key the key
     * @param difference without sign
     * @return ends with the new number, empty if there is no value; with {@link Kind#NON_NUMERIC} if the value is no number
     */
    public CompletableFuture<OptionalLong> decrement(String key, long difference) {
        return delta(Request.Kind.DECREMENT, key, difference);
    }
}
