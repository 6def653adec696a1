// SPDX-License-Identifier: Apache-2.0
package org.apache.hadoop.hbase.ipc;

import java.io.IOException;
import java.lang.reflect.Field;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.util.Arrays;
import java.util.List;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import org.apache.hadoop.hbase.HConstants;
import org.apache.hbase.thirdparty.io.netty.bootstrap.ServerBootstrap;
import org.apache.hbase.thirdparty.io.netty.buffer.ByteBufAllocator;
import org.apache.hbase.thirdparty.io.netty.channel.Channel;
import org.apache.hbase.thirdparty.io.netty.channel.ChannelHandler;
import org.apache.hbase.thirdparty.io.netty.channel.ChannelHandlerContext;
import org.apache.hbase.thirdparty.io.netty.channel.ChannelInboundHandlerAdapter;
import org.apache.hbase.thirdparty.io.netty.channel.ChannelInitializer;
import org.apache.hbase.thirdparty.io.netty.channel.WriteBufferWaterMark;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.verbena.core.VbnException;
import org.verbena.core.VbnPeer;
import org.verbena.core.plugin.LocalAddress;
import org.verbena.hbase.netty.VbnAddress;
import org.verbena.hbase.netty.VbnChannel;
import org.verbena.hbase.netty.VbnInvitations;
import org.verbena.hbase.netty.VbnServerChannel;
import org.verbena.hbase.node.CoreNode;

/**
 * The second listener of an RPC server: channels of the core, each with the handlers that HBase gives to a TCP connection, in
 * the same order. Clients learn of it on the server's TCP port. Thread safe.
 */
final class CoreServing implements AutoCloseable {
    private static final Logger LOG = LoggerFactory.getLogger(CoreServing.class);
    private static final long CLOSE_SECONDS = 10;
    /** Where HBase's settings have none: bytes of answers that wait for a slow reader, until the server reads no more calls. */
    private static final WriteBufferWaterMark SLOW_READER = new WriteBufferWaterMark(8 << 20, 16 << 20);

    private final NettyRpcServer server;
    private final VbnInvitations invitations = new VbnInvitations();
    private final Set<VbnPeer> known = ConcurrentHashMap.newKeySet();
    private final Field allocator;
    private final Field waterMark;
    private final Channel listener;

    /**
     * Starts to serve.
     *
     * @param server listens for TCP already
     * @throws IOException when the core does not start
     * @throws ReflectiveOperationException when this HBase's server is another one than ours was made for
     */
    CoreServing(NettyRpcServer server, CoreNode node) throws IOException, ReflectiveOperationException {
        this.server = server;
        allocator = field("channelAllocator");
        waterMark = field("writeBufferWaterMark");
        probeHandlers();
        InetSocketAddress tcp = server.getListenerAddress();
        InetAddress local = tcp.getAddress().isAnyLocalAddress() ? known() : tcp.getAddress();
        listener = new ServerBootstrap().group(node.start(local)).channelFactory(() -> new VbnServerChannel(invitations))
            .childHandler(new ChannelInitializer<VbnChannel>() {
                @Override
                protected void initChannel(VbnChannel channel) throws Exception {
                    prepare(channel);
                }
            }).bind(VbnAddress.local(0)).syncUninterruptibly().channel();
    }

    /** Of a server that listens on all addresses: the one from which it reaches ZooKeeper, which is where the cluster meets. */
    private InetAddress known() throws IOException {
        int port = server.conf.getInt(HConstants.ZOOKEEPER_CLIENT_PORT, HConstants.DEFAULT_ZOOKEEPER_CLIENT_PORT);
        List<InetSocketAddress> quorum = Arrays.stream(server.conf.getTrimmedStrings(HConstants.ZOOKEEPER_QUORUM, "localhost"))
            .map(host -> new InetSocketAddress(host.split(":")[0], port)).toList();
        InetAddress seen = LocalAddress.seenBy(quorum);
        InetAddress local = seen == null ? InetAddress.getLocalHost() : seen;
        if (local.isLoopbackAddress() && server.conf.get("verbena.core.tl.tcp.interface") == null) {
            LOG.warn("Verbena: clients of other hosts do not reach {} by the core: the server listens on all addresses, and "
                + "ZooKeeper sees {}; set verbena.core.tl.tcp.interface to the address by which clients know the server",
                server.getListenerAddress(), local.getHostAddress());
        }
        return local;
    }

    private static Field field(String name) throws ReflectiveOperationException {
        Field field = NettyRpcServer.class.getDeclaredField(name);
        field.setAccessible(true);
        return field;
    }

    private static void probeHandlers() throws ReflectiveOperationException {
        NettyRpcServerPreambleHandler.class.getDeclaredMethod("createDecoder");
        NettyRpcServerPreambleHandler.class.getConstructor(NettyRpcServer.class, NettyServerRpcConnection.class);
        NettyServerRpcConnection.class.getDeclaredMethod("doRespond", RpcResponse.class);
        NettyRpcServerResponseEncoder.class.getDeclaredConstructor(MetricsHBaseServer.class);
        NettyRpcServerChannelWritabilityHandler.class.getDeclaredConstructor(MetricsHBaseServer.class,
            java.util.function.IntSupplier.class, java.util.function.BooleanSupplier.class);
    }

    /** What NettyRpcServer does with a TCP connection, less TLS. The channel's loop. */
    private void prepare(VbnChannel channel) throws ReflectiveOperationException {
        boolean limited = server.isWritabilityBackpressureEnabled();
        channel.config().setWriteBufferWaterMark(limited ? (WriteBufferWaterMark) waterMark.get(server) : SLOW_READER);
        channel.config().setAllocator((ByteBufAllocator) allocator.get(server));
        channel.pipeline().addLast(new LostPeer());
        NettyServerRpcConnection connection = server.createNettyServerRpcConnection(channel);
        channel.pipeline()
            .addLast(NettyRpcServerPreambleHandler.DECODER_NAME, NettyRpcServerPreambleHandler.createDecoder())
            .addLast(new NettyRpcServerPreambleHandler(server, connection))
            .addLast(NettyRpcServerResponseEncoder.NAME, new NettyRpcServerResponseEncoder(server.metrics))
            .addLast(NettyRpcServerChannelWritabilityHandler.NAME, new NettyRpcServerChannelWritabilityHandler(server.metrics,
                server::getWriteBufferFatalThreshold, () -> true));
        VbnPeer peer = channel.peer();
        if (known.add(peer)) {
            peer.onLost((lost, cause) -> known.remove(lost));
            LOG.info("Verbena: {} calls by the core: {}",
                ((InetSocketAddress) channel.remoteAddress()).getAddress().getHostAddress(), peer.explain());
        }
    }

    /** For the head of a TCP connection's pipeline. */
    ChannelHandler detector() {
        return invitations.detector();
    }

    /** A client that has ended: over TCP the kernel ends its connections without a failure, and so do we. */
    private static final class LostPeer extends ChannelInboundHandlerAdapter {
        @Override
        public void exceptionCaught(ChannelHandlerContext context, Throwable cause) {
            if (cause instanceof VbnException) {
                LOG.debug("{} is lost: {}", context.channel().remoteAddress(), cause.getMessage());
                context.close();
            } else {
                context.fireExceptionCaught(cause);
            }
        }
    }

    /** Accepts no more channels; those that stand are the server's. */
    @Override
    public void close() {
        if (!listener.close().awaitUninterruptibly(CLOSE_SECONDS, TimeUnit.SECONDS)) {
            LOG.debug("the core's listener is still closing");
        }
    }
}
