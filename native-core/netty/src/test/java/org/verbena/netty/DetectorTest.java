// SPDX-License-Identifier: Apache-2.0
package org.verbena.netty;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.netty.bootstrap.ServerBootstrap;
import io.netty.buffer.Unpooled;
import io.netty.channel.Channel;
import io.netty.channel.ChannelInitializer;
import io.netty.channel.nio.NioEventLoopGroup;
import io.netty.channel.socket.nio.NioServerSocketChannel;
import java.io.DataInputStream;
import java.net.ConnectException;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.net.SocketAddress;
import java.nio.ByteBuffer;
import java.util.List;
import java.util.Random;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.verbena.core.greeting.Hello;

/** A TCP port with a protocol of its own (here: echo), where clients of ours are greeted, too. */
@ExtendWith(TestWatch.class)
class DetectorTest {
    private static final byte[] CONTENT = Rig.pattern(1000, 7);

    private final VbnInvitations invitations = new VbnInvitations();
    private final List<SocketAddress> clients = new CopyOnWriteArrayList<>();
    private Rig rig;
    private NioEventLoopGroup stock;
    private InetSocketAddress port;

    @BeforeEach
    void start() throws Exception {
        rig = new Rig("self,shm,tcp");
        stock = new NioEventLoopGroup(1);
        Channel listener = Rig.get(new ServerBootstrap().group(stock).channel(NioServerSocketChannel.class)
            .childHandler(new ChannelInitializer<Channel>() {
                @Override
                protected void initChannel(Channel channel) {
                    channel.pipeline().addLast(invitations.detector(), new Echo());
                }
            }).bind(Rig.ANY_PORT)).channel();
        port = (InetSocketAddress) listener.localAddress();
    }

    @AfterEach
    void stop() throws Exception {
        Rig.get(stock.shutdownGracefully(0, Rig.SECONDS, TimeUnit.SECONDS));
        rig.close();
    }

    private Channel serve() throws Exception {
        return Rig.get(new ServerBootstrap().group(rig.servers).channelFactory(() -> new VbnServerChannel(invitations))
            .childHandler(new ChannelInitializer<VbnChannel>() {
                @Override
                protected void initChannel(VbnChannel channel) {
                    clients.add(channel.remoteAddress());
                    channel.pipeline().addLast(new Echo());
                }
            }).bind(VbnAddress.local(0))).channel();
    }

    private Socket socket() throws Exception {
        Socket socket = new Socket(port.getAddress(), port.getPort());
        socket.setSoTimeout((int) TimeUnit.SECONDS.toMillis(Rig.SECONDS));
        return socket;
    }

    @Test
    void a_client_of_ours_is_greeted_and_its_channel_is_not_tcp() throws Exception {
        serve();
        Sink sink = new Sink(CONTENT);
        VbnChannel channel = rig.connect(port, sink);
        channel.writeAndFlush(Unpooled.wrappedBuffer(CONTENT));
        sink.awaitReceived(CONTENT.length);
        assertEquals("shm", channel.peer().transport());
        assertEquals(port, channel.remoteAddress());
        assertEquals(List.of(channel.localAddress()), clients);
        Rig.get(channel.close());
    }

    @Test
    void bytes_of_the_other_protocol_pass_unchanged_however_they_are_cut() throws Exception {
        serve();
        for (byte[] said : new byte[][] {CONTENT, "HBas".getBytes(), "VBNX and more".getBytes(), "VBVBNH\0\4".getBytes()}) {
            for (int cut : new int[] {1, 2, 3, said.length}) {
                try (Socket socket = socket()) {
                    socket.setTcpNoDelay(true);
                    socket.getOutputStream().write(said, 0, cut);
                    socket.getOutputStream().flush();
                    socket.getOutputStream().write(said, cut, said.length - cut);
                    byte[] answer = new byte[said.length];
                    new DataInputStream(socket.getInputStream()).readFully(answer);
                    assertArrayEquals(said, answer);
                }
            }
        }
    }

    @Test
    void mutated_hellos_are_greeted_or_passed_on_whole() throws Exception {
        serve();
        Random random = new Random(9);
        byte[] good = Hello.encode().array();
        int greeted = 0;
        for (int i = 0; i < 500; i++) {
            byte[] said = good.clone();
            said[random.nextInt(said.length)] = (byte) random.nextInt();
            try (Socket socket = socket()) {
                socket.getOutputStream().write(said);
                byte[] answer = new byte[said.length];
                new DataInputStream(socket.getInputStream()).readFully(answer);
                if (Hello.look(ByteBuffer.wrap(said)) == Hello.Verdict.HELLO) {
                    greeted++;
                    assertEquals("VBNG", new String(answer, 0, 4));
                } else {
                    assertArrayEquals(said, answer);
                }
            }
        }
        assertTrue(greeted > 100 && greeted < 400, "greeted " + greeted);
    }

    @Test
    void a_hello_is_not_answered_while_nobody_serves() throws Exception {
        assertTrue(assertThrows(ConnectException.class, () -> rig.connect(port, new Sink(CONTENT))).getMessage()
            .contains("ended before a greeting came"));
        Channel server = serve();
        Rig.get(rig.connect(port, new Sink(CONTENT)).close());
        Rig.get(server.close());
        assertThrows(ConnectException.class, () -> rig.connect(port, new Sink(CONTENT)));
    }

    @Test
    void a_stream_without_a_token_is_refused() throws Exception {
        VbnAddress address = (VbnAddress) serve().localAddress();
        assertTrue(assertThrows(ConnectException.class, () -> rig.connect(address, new Sink(CONTENT))).getMessage()
            .contains("refused"));
    }
}
