// SPDX-License-Identifier: Apache-2.0
package org.verbena.core.greeting;

import java.nio.ByteBuffer;
import java.security.SecureRandom;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.function.Supplier;

/**
 * The server's side: gives greetings, each with a token of 128 random bits, which the client's stream shows. So a server knows the
 * address of who opens a stream from the TCP connection on which that client has asked, and not from what a client says of itself.
 * A token is good once and for ten minutes; of those that nobody has shown the newest 4,096 are kept, in less than 1 MiB. Thread
 * safe.
 *
 * @param <A> what is to be known of the TCP connection
 */
public final class Greeter<A> {
    /** Most tokens that nobody has shown yet. */
    public static final int MOST = 4096;
    static final long KEPT = TimeUnit.MINUTES.toNanos(10);

    private final int messages;
    private final int service;
    private final Supplier<byte[]> engines;
    private final SecureRandom random = new SecureRandom();
    /** The oldest first; guarded by itself. */
    private final Map<ByteBuffer, Given<A>> given = new LinkedHashMap<>();

    private record Given<A>(A to, long when) {
    }

    /**
     * Makes one that has greeted nobody.
     *
     * @param messages id of the messages that carry the streams
     * @param service that clients open streams to
     * @param engines gives the address of the engine for the next client; called by any thread
     * @throws IllegalArgumentException when no greeting can carry these, for example an address that is too long
     */
    public Greeter(int messages, int service, Supplier<byte[]> engines) {
        this.messages = messages;
        this.service = service;
        this.engines = engines;
        new Greeting(messages, service, new byte[Greeting.TOKEN_BYTES], engines.get()).encode();
    }

    /**
     * Makes the greeting for one client.
     *
     * @param to what {@link #claim} will tell of the client
     */
    public Greeting greet(A to) {
        return greet(to, System.nanoTime());
    }

    Greeting greet(A to, long now) {
        byte[] token = new byte[Greeting.TOKEN_BYTES];
        random.nextBytes(token);
        synchronized (given) {
            Iterator<Given<A>> oldest = given.values().iterator();
            while (oldest.hasNext() && (now - oldest.next().when >= KEPT || given.size() >= MOST)) {
                oldest.remove();
            }
            given.put(ByteBuffer.wrap(token.clone()), new Given<>(to, now));
        }
        return new Greeting(messages, service, token, engines.get());
    }

    /**
     * Uses a token up.
     *
     * @param token what a client has shown; its position stays
     * @return to whom it was given; null when it is none, or not good any more
     */
    public A claim(ByteBuffer token) {
        return claim(token, System.nanoTime());
    }

    A claim(ByteBuffer token, long now) {
        Given<A> taken;
        synchronized (given) {
            taken = given.remove(token);
        }
        return taken == null || now - taken.when >= KEPT ? null : taken.to;
    }

    /** Returns whether the next greeting makes the oldest token worthless. */
    public boolean isFull() {
        synchronized (given) {
            return given.size() >= MOST;
        }
    }
}
