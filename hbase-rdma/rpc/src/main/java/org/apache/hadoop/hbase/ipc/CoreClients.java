// SPDX-License-Identifier: Apache-2.0
package org.apache.hadoop.hbase.ipc;

import java.io.IOException;
import java.lang.reflect.Field;
import java.util.Map;
import java.util.concurrent.atomic.AtomicInteger;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.hbase.ServerName;
import org.apache.hadoop.hbase.codec.Codec;
import org.apache.hadoop.hbase.net.Address;
import org.apache.hadoop.hbase.security.User;
import org.apache.hadoop.hbase.util.Pair;
import org.apache.hbase.thirdparty.io.netty.channel.Channel;
import org.apache.hbase.thirdparty.io.netty.channel.EventLoopGroup;
import org.verbena.hbase.netty.VbnChannel;
import org.verbena.hbase.netty.VbnEventLoop;

/**
 * Makes HBase's own RPC client on the core's loops and channels. HBase has one name for loops that are not its own, for the whole
 * process, and a region server uses it; so ours get names of their own in the same table.
 */
final class CoreClients {
    private static final String TABLE = "EVENT_LOOP_CONFIG_MAP";
    private static final String LOOP = "eventLoop";
    private static final AtomicInteger COUNT = new AtomicInteger();

    private CoreClients() {
    }

    /** Says what this HBase lacks, null when nothing. */
    static String missing() {
        try {
            table();
            NettyRpcConnection.class.getDeclaredConstructor(NettyRpcClient.class, ConnectionId.class);
            NettyRpcConnection.class.getDeclaredField(LOOP);
            NettyRpcConnection.class.getMethod("sendRequest", Call.class, HBaseRpcController.class);
            NettyRpcConnection.class.getMethod("cleanupConnection");
            AbstractRpcClient.class.getDeclaredField("failedServers");
            Call.class.getDeclaredMethod("isConnectionRegistryCall");
            AbstractRpcClient.BlockingRpcChannelImplementation.class.getDeclaredConstructor(AbstractRpcClient.class, Address.class,
                User.class, int.class);
            AbstractRpcClient.class.getDeclaredMethod("createAddr", ServerName.class);
            return null;
        } catch (ReflectiveOperationException | RuntimeException | LinkageError e) {
            return e.toString();
        }
    }

    @SuppressWarnings("unchecked") // the field's type in HBase 2.6
    private static Map<String, Pair<EventLoopGroup, Class<? extends Channel>>> table() throws ReflectiveOperationException {
        Field field = NettyRpcClientConfigHelper.class.getDeclaredField(TABLE);
        field.setAccessible(true);
        return (Map<String, Pair<EventLoopGroup, Class<? extends Channel>>>) field.get(null);
    }

    /** The event loop of a connection that {@link #on} such a client was made. */
    static VbnEventLoop loopOf(NettyRpcConnection connection) throws IOException {
        try {
            Field field = NettyRpcConnection.class.getDeclaredField(LOOP);
            field.setAccessible(true);
            return (VbnEventLoop) field.get(connection);
        } catch (ReflectiveOperationException e) {
            throw another(e);
        }
    }

    private static IOException another(Exception cause) {
        return new IOException("the RPC client of this HBase lacks a part that Verbena uses: " + cause, cause);
    }

    /** Codec and options are those of the client, also where a subclass of it has others than its settings say. */
    private static NettyRpcClient alike(NettyRpcClient like, Configuration own) {
        return new NettyRpcClient(own, like.clusterId, like.localAddr, like.metrics, like.connectionAttributes) {
            @Override
            protected Codec getCodec() {
                return like.codec;
            }

            @Override
            protected boolean isTcpNoDelay() {
                return like.isTcpNoDelay();
            }
        };
    }

    /**
     * Makes a client.
     *
     * @param like the client whose settings and metrics it takes
     * @param conf the configuration of that client
     */
    static NettyRpcClient on(EventLoopGroup group, NettyRpcClient like, Configuration conf) throws IOException {
        String name = "verbena-" + COUNT.incrementAndGet();
        Configuration own = new Configuration(conf);
        own.set(NettyRpcClientConfigHelper.EVENT_LOOP_CONFIG, name);
        try {
            synchronized (NettyRpcClientConfigHelper.class) {
                table().put(name, Pair.newPair(group, VbnChannel.class));
                try {
                    return alike(like, own);
                } finally {
                    table().remove(name);
                }
            }
        } catch (ReflectiveOperationException e) {
            throw another(e);
        }
    }
}
