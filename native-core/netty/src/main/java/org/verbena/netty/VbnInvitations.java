// SPDX-License-Identifier: Apache-2.0
package org.verbena.netty;

import io.netty.buffer.Unpooled;
import io.netty.channel.Channel;
import io.netty.channel.ChannelHandler;
import io.netty.channel.ChannelHandlerContext;
import java.net.SocketAddress;
import java.nio.ByteBuffer;
import java.util.concurrent.TimeUnit;
import java.util.function.Supplier;
import org.verbena.core.greeting.Greeter;
import org.verbena.core.greeting.Greeting;

/**
 * The greetings that a server channel has given and that nobody has followed yet. They may be given on a TCP port that has a
 * protocol of its own: {@link #detector} goes first into the pipeline of each connection there. A token is good for one
 * stream, while the connection that it was given to is open. Thread safe.
 */
public final class VbnInvitations {
    /** So long a client may keep its connection. */
    private static final long KEPT_SECONDS = 30;

    /** Null while nobody serves. */
    private volatile Greeter<Ends> greeter;

    /** Addresses of a TCP connection. */
    record Ends(SocketAddress local, SocketAddress remote) {
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
        greeter = new Greeter<>(VbnEventLoop.MESSAGE, number, engines);
    }

    /** The server channel is closed: nobody is invited any more. */
    void close() {
        greeter = null;
    }

    /**
     * Greets who is connected there, and closes the connection after a while; at once when nobody serves, or so many are
     * connected that the token of another one would be forgotten.
     */
    void greet(ChannelHandlerContext context) {
        Greeter<Ends> offered = greeter;
        if (offered == null || offered.isFull()) {
            context.close();
            return;
        }
        Channel channel = context.channel();
        Greeting greeting = offered.greet(new Ends(channel.localAddress(), channel.remoteAddress()));
        channel.closeFuture().addListener(closed -> offered.claim(ByteBuffer.wrap(greeting.token())));
        context.writeAndFlush(Unpooled.wrappedBuffer(greeting.encode()));
        context.executor().schedule(() -> channel.close(), KEPT_SECONDS, TimeUnit.SECONDS);
    }

    /** The addresses of the connection that got this token, which is used up; null when it is no token. */
    Ends claim(ByteBuffer token) {
        Greeter<Ends> offered = greeter;
        return offered == null ? null : offered.claim(token);
    }
}
