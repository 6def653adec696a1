// SPDX-License-Identifier: Apache-2.0
package org.verbena.ohb.hbase;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.concurrent.TimeUnit;
import org.apache.hbase.thirdparty.io.netty.bootstrap.Bootstrap;
import org.apache.hbase.thirdparty.io.netty.bootstrap.ServerBootstrap;
import org.apache.hbase.thirdparty.io.netty.channel.Channel;
import org.apache.hbase.thirdparty.io.netty.channel.ChannelFuture;
import org.apache.hbase.thirdparty.io.netty.channel.ChannelInitializer;
import org.apache.hbase.thirdparty.io.netty.channel.ChannelOption;
import org.apache.hbase.thirdparty.io.netty.channel.EventLoopGroup;
import org.apache.hbase.thirdparty.io.netty.channel.ServerChannel;
import org.apache.hbase.thirdparty.io.netty.channel.epoll.EpollEventLoopGroup;
import org.apache.hbase.thirdparty.io.netty.channel.epoll.EpollServerSocketChannel;
import org.apache.hbase.thirdparty.io.netty.channel.epoll.EpollSocketChannel;
import org.verbena.core.VbnConfig;
import org.verbena.core.VbnContext;
import org.verbena.core.VbnException;
import org.verbena.hbase.netty.VbnChannel;
import org.verbena.hbase.netty.VbnEventLoopGroup;
import org.verbena.hbase.netty.VbnServerChannel;

/**
 * Bytes there and back through Netty, between two JVMs: {@code epoll server} and {@code core server} tell where they listen, as
 * {@code {"port": N}}, and end with their input; {@code epoll client PORT} and {@code core client PORT} answer lines {@code echo
 * ROUNDS BYTES} with one line of JSON each. One event loop at each side; the handlers are the same.
 */
public final class EchoLoad {
    private static final int CONNECT_SECONDS = 60;

    private final EventLoopGroup group;
    private final Class<? extends Channel> channels;
    private final Class<? extends ServerChannel> servers;

    private EchoLoad(String transport) throws VbnException {
        boolean core = transport.equals("core");
        group = core ? new VbnEventLoopGroup(VbnContext.open(new VbnConfig().set("security.auth", "none")), 1)
            : new EpollEventLoopGroup(1);
        channels = core ? VbnChannel.class : EpollSocketChannel.class;
        servers = core ? VbnServerChannel.class : EpollServerSocketChannel.class;
    }

    /**
     * Runs until {@code quit} or the end of the input.
     *
     * @param words transport, side, port
     * @throws Exception when it cannot listen or connect
     */
    public static void main(String[] words) throws Exception {
        PrintStream answers = System.out;
        System.setOut(System.err);
        EchoLoad load = new EchoLoad(words[0]);
        BufferedReader lines = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        if (words[1].equals("server")) {
            answers.println("{\"port\": " + load.serve() + "}");
            while (lines.readLine() != null) {
                continue; // only the end counts
            }
        } else {
            load.client(Integer.parseInt(words[2]), lines, answers);
        }
        System.exit(0);
    }

    private int serve() throws IOException {
        ChannelFuture bound = new ServerBootstrap().group(group).channel(servers).childHandler(new ChannelInitializer<Channel>() {
            @Override
            protected void initChannel(Channel channel) {
                channel.pipeline().addLast(new EchoHandlers.Back());
            }
        }).bind(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0));
        return ((InetSocketAddress) await(bound).localAddress()).getPort();
    }

    private void client(int port, BufferedReader lines, PrintStream answers) throws IOException {
        EchoHandlers.Rounds rounds = new EchoHandlers.Rounds();
        await(new Bootstrap().group(group).channel(channels).option(ChannelOption.TCP_NODELAY, true).handler(rounds)
            .connect(new InetSocketAddress(InetAddress.getLoopbackAddress(), port)));
        answers.println("{}");
        for (String line = lines.readLine(); line != null && !line.equals("quit"); line = lines.readLine()) {
            String[] words = line.trim().split(" +");
            try {
                long start = System.nanoTime();
                long[] each = rounds.run(Integer.parseInt(words[1]), Integer.parseInt(words[2]));
                long all = System.nanoTime() - start;
                Arrays.sort(each);
                answers.println("{\"ns\": " + all + ", \"calls\": " + each.length + ", \"p50_ns\": " + each[each.length / 2] + "}");
            } catch (IOException | RuntimeException e) {
                answers.println("{\"error\": \"" + CallLoad.quoted(line + ": " + e) + "\"}");
            }
        }
    }

    private static Channel await(ChannelFuture future) throws IOException {
        if (!future.awaitUninterruptibly(CONNECT_SECONDS, TimeUnit.SECONDS)) {
            throw new IOException("nothing within " + CONNECT_SECONDS + " s");
        }
        if (!future.isSuccess()) {
            throw new IOException(future.cause().getMessage(), future.cause());
        }
        return future.channel();
    }
}
