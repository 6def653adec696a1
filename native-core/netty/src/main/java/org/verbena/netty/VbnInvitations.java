// SPDX-License-Identifier: Apache-2.0
package org.verbena.netty;

import io.netty.buffer.Unpooled;
import io.netty.channel.Channel;
import io.netty.channel.ChannelHandler;
import io.netty.channel.ChannelHandlerContext;
import java.net.SocketAddress;
import java.nio.ByteBuffer;
import java.security.SecureRandom;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import java.util.function.Supplier;

/**
 * The greetings that a server channel has given and that nobody has followed yet. They may be given on a TCP port that has a
 * protocol of its own: {@link #detector} goes first into the pipeline of each connection there. A token is good for one
 * stream, while the connection that it was given to is open. Thread safe.
 */
public final class VbnInvitations {
    /** More connections than this are closed without a greeting. */
    private static final int MOST = 4096;
    /** So long a client may keep its connection. */
    private static final long KEPT_SECONDS = 30;

    private final SecureRandom random = new SecureRandom();
    private final Map<Token, Ends> invited = new ConcurrentHashMap<>();
    private volatile Service service;

    /** Addresses of a TCP connection. */
    record Ends(SocketAddress local, SocketAddress remote) {
    }

    private record Service(int number, Supplier<byte[]> engines) {
    }

    private record Token(long first, long second) {
        static Token of(ByteBuffer bytes) {
            return new Token(bytes.getLong(bytes.position()), bytes.getLong(bytes.position() + Long.BYTES));
        }
    }

    /** Makes one, for a {@link VbnServerChannel}; nobody is invited before that is bound. */
    public VbnInvitations() {
        // nothing is known yet
    }

    /**
     * Makes the handler that greets a client of ours on a TCP connection of another protocol. What begins otherwise goes on
     * to the handlers behind it, unchanged, and the handler removes itself. One for each connection, at its pipeline's head.
     */
    public ChannelHandler detector() {
        return new HelloDetector(this);
    }

    /** The server channel is bound. engines: gives the address of one of the engines that serve it; any thread. */
    void open(int number, Supplier<byte[]> engines) {
        service = new Service(number, engines);
    }

    /** The server channel is closed: nobody is invited any more. */
    void close() {
        service = null;
        invited.clear();
    }

    /** Greets who is connected there, and closes the connection after a while; at once when it cannot be greeted. */
    void greet(ChannelHandlerContext context) {
        Service offered = service;
        if (offered == null || invited.size() >= MOST) {
            context.close();
            return;
        }
        byte[] bytes = new byte[Greeting.TOKEN_BYTES];
        random.nextBytes(bytes);
        Token token = Token.of(ByteBuffer.wrap(bytes));
        Channel channel = context.channel();
        invited.put(token, new Ends(channel.localAddress(), channel.remoteAddress()));
        channel.closeFuture().addListener(closed -> invited.remove(token));
        ByteBuffer greeting = new Greeting(offered.number(), bytes, offered.engines().get()).encode();
        context.writeAndFlush(Unpooled.wrappedBuffer(greeting));
        context.executor().schedule(() -> channel.close(), KEPT_SECONDS, TimeUnit.SECONDS);
    }

    /** The addresses of the connection that got this token, which is used up; null when it is no token. */
    Ends claim(ByteBuffer token) {
        return token.remaining() == Greeting.TOKEN_BYTES ? invited.remove(Token.of(token)) : null;
    }
}
