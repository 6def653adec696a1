// SPDX-License-Identifier: Apache-2.0
package org.verbena.netty;

import io.netty.bootstrap.ServerBootstrap;
import io.netty.buffer.Unpooled;
import io.netty.channel.Channel;
import io.netty.channel.ChannelFuture;
import io.netty.channel.ChannelHandler.Sharable;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;
import io.netty.channel.EventLoopGroup;
import io.netty.channel.socket.nio.NioServerSocketChannel;
import io.netty.util.AttributeKey;
import io.netty.util.ReferenceCountUtil;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.net.SocketAddress;
import java.net.StandardSocketOptions;
import java.nio.ByteBuffer;
import java.nio.channels.ServerSocketChannel;
import java.security.SecureRandom;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import java.util.function.Supplier;

/**
 * Listens at a TCP address and greets everybody; reads nothing. A token is good for one stream, while the connection that it
 * was given to is open. Thread safe.
 */
@Sharable
final class GreetingServer extends ChannelInboundHandlerAdapter {
    private static final AttributeKey<Token> TOKEN = AttributeKey.valueOf(GreetingServer.class, "token");
    /** More connections than this are closed without a greeting. */
    private static final int MOST = 4096;
    /** So long a client may keep its connection. */
    private static final long KEPT_SECONDS = 30;

    private final int service;
    private final Supplier<byte[]> engines;
    private final SecureRandom random = new SecureRandom();
    private final Map<Token, Ends> invited = new ConcurrentHashMap<>();
    private final InetSocketAddress address;
    private Channel listener;

    /** Addresses of a TCP connection. */
    record Ends(SocketAddress local, SocketAddress remote) {
    }

    private record Token(long first, long second) {
        static Token of(ByteBuffer bytes) {
            return new Token(bytes.getLong(bytes.position()), bytes.getLong(bytes.position() + Long.BYTES));
        }
    }

    private GreetingServer(int service, Supplier<byte[]> engines, InetSocketAddress address) {
        this.service = service;
        this.engines = engines;
        this.address = address;
    }

    /**
     * Starts to listen.
     *
     * @param greeters runs it
     * @param at where; port 0: one that is free
     * @param service the service that clients open streams to
     * @param engines gives the address of one of the engines that serve it; any thread
     * @throws IOException when it cannot listen there
     */
    static GreetingServer start(EventLoopGroup greeters, InetSocketAddress at, int backlog, int service,
            Supplier<byte[]> engines) throws IOException {
        ServerSocketChannel socket = ServerSocketChannel.open();
        try {
            socket.setOption(StandardSocketOptions.SO_REUSEADDR, true);
            socket.bind(at, backlog);
            GreetingServer server = new GreetingServer(service, engines, (InetSocketAddress) socket.getLocalAddress());
            server.listen(greeters, socket);
            return server;
        } catch (IOException | RuntimeException e) {
            socket.close();
            throw e;
        }
    }

    private void listen(EventLoopGroup greeters, ServerSocketChannel socket) {
        ChannelFuture registered = new ServerBootstrap().group(greeters)
            .channelFactory(() -> new NioServerSocketChannel(socket)).childHandler(this).register();
        listener = registered.channel();
    }

    InetSocketAddress address() {
        return address;
    }

    /** The addresses of the connection that got this token, which is used up; null when it is no token. */
    Ends claim(ByteBuffer token) {
        return token.remaining() == Greeting.TOKEN_BYTES ? invited.remove(Token.of(token)) : null;
    }

    /** Listens no more; connections that stand end by themselves. */
    void close() {
        listener.close();
        invited.clear();
    }

    @Override
    public void channelActive(ChannelHandlerContext context) {
        if (invited.size() >= MOST) {
            context.close();
            return;
        }
        byte[] bytes = new byte[Greeting.TOKEN_BYTES];
        random.nextBytes(bytes);
        Token token = Token.of(ByteBuffer.wrap(bytes));
        Channel channel = context.channel();
        invited.put(token, new Ends(channel.localAddress(), channel.remoteAddress()));
        channel.attr(TOKEN).set(token);
        ByteBuffer greeting = new Greeting(service, bytes, engines.get()).encode();
        context.writeAndFlush(Unpooled.wrappedBuffer(greeting));
        context.executor().schedule(() -> channel.close(), KEPT_SECONDS, TimeUnit.SECONDS);
    }

    @Override
    public void channelInactive(ChannelHandlerContext context) {
        Token token = context.channel().attr(TOKEN).get();
        if (token != null) {
            invited.remove(token);
        }
    }

    @Override
    public void channelRead(ChannelHandlerContext context, Object message) {
        ReferenceCountUtil.release(message);
    }

    @Override
    public void exceptionCaught(ChannelHandlerContext context, Throwable cause) {
        context.close();
    }
}
