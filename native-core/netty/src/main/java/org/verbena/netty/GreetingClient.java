// SPDX-License-Identifier: Apache-2.0
package org.verbena.netty;

import io.netty.bootstrap.Bootstrap;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.netty.channel.Channel;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;
import io.netty.channel.ChannelOption;
import io.netty.channel.EventLoopGroup;
import io.netty.channel.socket.nio.NioSocketChannel;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.net.SocketAddress;
import java.util.function.BiConsumer;
import org.verbena.core.greeting.Greeting;
import org.verbena.core.greeting.GreetingReader;
import org.verbena.core.greeting.Hello;

/**
 * Asks a TCP address for a greeting. The connection stays open until it is closed here: the server keeps the token so long.
 * Tells the result once, on the greetings' thread.
 */
final class GreetingClient extends ChannelInboundHandlerAdapter {
    private final BiConsumer<Greeting, Throwable> result;
    private final Runnable asked;
    private final GreetingReader reader = new GreetingReader(VbnEventLoop.MESSAGE);
    private volatile Channel channel;
    private volatile boolean closed;
    private volatile SocketAddress localAddress;
    private volatile SocketAddress remoteAddress;
    private boolean told;

    /** asked: told before each question. */
    GreetingClient(BiConsumer<Greeting, Throwable> result, Runnable asked) {
        this.result = result;
        this.asked = asked;
    }

    void ask(EventLoopGroup greeters, InetSocketAddress remote, SocketAddress local, int timeoutMillis) {
        Bootstrap bootstrap = new Bootstrap().group(greeters).channel(NioSocketChannel.class).handler(this)
            .option(ChannelOption.CONNECT_TIMEOUT_MILLIS, timeoutMillis);
        bootstrap.connect(remote, local).addListener(connected -> {
            if (!connected.isSuccess()) {
                tell(null, new IOException(connected.cause().getMessage()
                    + ": start the server, or check host and port", connected.cause()));
            }
        });
    }

    /** The addresses of the TCP connection, once it has stood. */
    SocketAddress localAddress() {
        return localAddress;
    }

    SocketAddress remoteAddress() {
        return remoteAddress;
    }

    /** Any thread; idempotent. */
    void close() {
        closed = true;
        Channel used = channel;
        if (used != null) {
            used.close();
        }
    }

    private void tell(Greeting greeting, Throwable cause) {
        if (!told) {
            told = true;
            result.accept(greeting, cause);
        }
    }

    @Override
    public void channelRegistered(ChannelHandlerContext context) {
        asked.run(); // the connect comes next
        context.fireChannelRegistered();
    }

    @Override
    public void channelActive(ChannelHandlerContext context) {
        localAddress = context.channel().localAddress();
        remoteAddress = context.channel().remoteAddress();
        channel = context.channel();
        if (closed) {
            context.close();
        } else {
            context.writeAndFlush(Unpooled.wrappedBuffer(Hello.encode())).addListener(sent -> asked.run());
        }
    }

    @Override
    public void channelRead(ChannelHandlerContext context, Object message) {
        ByteBuf bytes = (ByteBuf) message;
        try {
            Greeting greeting = reader.take(bytes.nioBuffer());
            if (greeting != null) {
                tell(greeting, null);
            }
        } catch (IOException e) {
            tell(null, e);
            context.close();
        } finally {
            bytes.release();
        }
    }

    @Override
    public void channelInactive(ChannelHandlerContext context) {
        tell(null, reader.ended());
    }

    @Override
    public void exceptionCaught(ChannelHandlerContext context, Throwable cause) {
        tell(null, cause);
        context.close();
    }
}
