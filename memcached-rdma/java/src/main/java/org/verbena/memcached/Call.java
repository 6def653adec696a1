// SPDX-License-Identifier: Apache-2.0
package org.verbena.memcached;

import java.nio.ByteBuffer;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.Consumer;
import org.verbena.memcached.wire.Answer;
import org.verbena.memcached.wire.Request;

/**
 * A request on its way. It ends once, with an answer or an error, and its future with it; it may end early, and then stays with
 * its carrier until the answer comes, which is thrown away. So an answer is never taken for another one, and nothing writes to the
 * caller's memory after the end.
 */
final class Call {
    final Request request;
    final Server server;
    /** A time of {@link Loop#now}. */
    final long deadline;
    final CompletableFuture<Answer> future = new CompletableFuture<>();
    private final ValueSink sink;
    /** A copy of the value to be stored, off-heap; null: there is none, or it is given back. */
    private final AtomicReference<ByteBuffer> value;
    private final Consumer<ByteBuffer> giveBack;
    private final AtomicBoolean left = new AtomicBoolean();
    private boolean over;
    /** Number on its connection; of the carrier. */
    int number;
    /** The messages that carry it; of the engine's thread, as are the three below. */
    MessageCarrier carrier;
    /** Told the first answer of a connection; null: it is not this call. */
    MessageCarrier.Knocked knocked;
    /** Its value may be on its way still. */
    boolean announced;
    /** Its answer's value is on its way. */
    boolean pulling;
    /** When it was sent, a time of {@link Loop#now}; -1: it was not. */
    volatile long sentAt = -1;

    /** value: null if there is none; goes to giveBack once. */
    Call(Request request, Server server, long deadline, ByteBuffer value, Consumer<ByteBuffer> giveBack, ValueSink sink) {
        this.request = request;
        this.server = server;
        this.deadline = deadline;
        this.value = new AtomicReference<>(value);
        this.giveBack = giveBack;
        this.sink = sink;
    }

    /** The value to be stored; null: there is none. */
    ByteBuffer value() {
        return value.get();
    }

    /** Nobody reads the value any more. Any thread, idempotent. */
    void releaseValue() {
        ByteBuffer bytes = value.getAndSet(null);
        if (bytes != null) {
            giveBack.accept(bytes);
        }
    }

    /** True the first time. */
    boolean leave() {
        return left.compareAndSet(false, true);
    }

    synchronized boolean isOver() {
        return over;
    }

    /** Hands a value to the caller, unless the call is over. */
    void deliver(int index, ByteBuffer bytes, int flags, long cas) {
        MemcachedException failure;
        synchronized (this) { // who ends the call waits until the caller's memory is not written any more
            failure = over || sink == null ? null : sink.take(index, bytes, flags, cas);
        }
        if (failure != null) {
            fail(failure);
        }
    }

    void answer(Answer answer) {
        if (close()) {
            future.complete(answer);
        }
    }

    void fail(MemcachedException failure) {
        if (close()) {
            future.completeExceptionally(failure);
        }
    }

    private synchronized boolean close() {
        boolean first = !over;
        over = true;
        return first;
    }
}
