// SPDX-License-Identifier: Apache-2.0
package org.verbena.netty;

import io.netty.bootstrap.ServerBootstrap;
import io.netty.channel.Channel;
import io.netty.channel.ChannelFuture;
import io.netty.channel.ChannelHandler.Sharable;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;
import io.netty.channel.EventLoopGroup;
import io.netty.channel.socket.nio.NioServerSocketChannel;
import io.netty.util.ReferenceCountUtil;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.net.StandardSocketOptions;
import java.nio.channels.ServerSocketChannel;

/** Listens at a TCP address and greets everybody, whatever is said there. Thread safe. */
@Sharable
final class GreetingServer extends ChannelInboundHandlerAdapter {
    private final VbnInvitations invitations;
    private final InetSocketAddress address;
    private Channel listener;

    private GreetingServer(VbnInvitations invitations, InetSocketAddress address) {
        this.invitations = invitations;
        this.address = address;
    }

    /**
     * Starts to listen.
     *
     * @param greeters runs it
     * @param at where; port 0: one that is free
     * @param invitations gives the greetings
     * @throws IOException when it cannot listen there
     */
    static GreetingServer start(EventLoopGroup greeters, InetSocketAddress at, int backlog, VbnInvitations invitations)
            throws IOException {
        ServerSocketChannel socket = ServerSocketChannel.open();
        try {
            socket.setOption(StandardSocketOptions.SO_REUSEADDR, true);
            socket.bind(at, backlog);
            GreetingServer server = new GreetingServer(invitations, (InetSocketAddress) socket.getLocalAddress());
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

    /** Listens no more; connections that stand end by themselves. */
    void close() {
        listener.close();
    }

    @Override
    public void channelActive(ChannelHandlerContext context) {
        invitations.greet(context);
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
