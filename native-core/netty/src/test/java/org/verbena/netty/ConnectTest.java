// SPDX-License-Identifier: Apache-2.0
package org.verbena.netty;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.netty.channel.Channel;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;
import io.netty.channel.ChannelOption;
import io.netty.channel.ConnectTimeoutException;
import io.netty.channel.local.LocalAddress;
import java.net.BindException;
import java.net.ConnectException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.net.SocketAddress;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.nio.channels.UnsupportedAddressTypeException;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.verbena.core.greeting.Greeting;
import org.verbena.core.greeting.GreetingReader;

/** Connects that succeed and those that cannot, binds, and the ends of event loops. */
@ExtendWith(TestWatch.class)
class ConnectTest {
    private Rig rig;

    @BeforeEach
    void start() throws Exception {
        rig = new Rig("self,shm,tcp");
    }

    @AfterEach
    void stop() {
        rig.close();
    }

    private String refusal(SocketAddress address) {
        return assertThrows(ConnectException.class, () -> rig.connect(address, new Sink(new byte[1]))).getMessage();
    }

    @Test
    void nobody_listens_at_the_tcp_address() throws Exception {
        try (Socket silent = new Socket()) { // bound: nobody else gets the port; and not listening
            silent.bind(Rig.ANY_PORT);
            String text = refusal(silent.getLocalSocketAddress());
            assertTrue(text.contains("refused") && text.contains("start the server"), text);
        }
    }

    @Test
    void something_else_listens_there() throws Exception {
        for (String said : new String[] {"SSH-2.0-OpenSSH_9.2\r\n", "VBNG", ""}) {
            try (ServerSocket other = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
                CompletableFuture<Void> answered = CompletableFuture.runAsync(() -> {
                    try (Socket client = other.accept()) {
                        client.getOutputStream().write(said.getBytes(StandardCharsets.US_ASCII));
                    } catch (java.io.IOException e) {
                        throw new AssertionError(e);
                    }
                });
                String text = refusal(other.getLocalSocketAddress());
                assertTrue(text.contains("another program"), text);
                answered.get(Rig.SECONDS, TimeUnit.SECONDS);
            }
        }
    }

    @Test
    void who_says_nothing_is_given_up() throws Exception {
        try (ServerSocket mute = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
            String text = assertThrows(ConnectTimeoutException.class, () -> Rig.get(rig.client(new Sink(new byte[1]))
                .option(ChannelOption.CONNECT_TIMEOUT_MILLIS, 50).connect(mute.getLocalSocketAddress()))).getMessage();
            assertTrue(text.contains("greeting did not come") && text.contains("50 ms"), text);
        }
    }

    @Test
    void a_client_hears_that_the_server_is_asked_and_has_greeted_it_before_it_is_connected() throws Exception {
        Channel server = rig.bind(Rig.ANY_PORT, Echo::new);
        List<Object> heard = new CopyOnWriteArrayList<>();
        rig.connect(server.localAddress(), new ChannelInboundHandlerAdapter() {
            @Override
            public void userEventTriggered(ChannelHandlerContext context, Object event) {
                heard.add(event);
            }

            @Override
            public void channelActive(ChannelHandlerContext context) {
                heard.add("active");
            }
        });
        Rig.await("active", () -> heard.contains("active"));
        assertEquals(VbnChannel.Event.ASKED, heard.get(0));
        assertEquals(List.of(VbnChannel.Event.GREETED, "active"), heard.stream().filter(event -> event != heard.get(0)).toList());
    }

    @Test
    void a_service_that_nobody_serves_is_refused() throws Exception {
        Channel server = rig.bind(VbnAddress.local(5), Echo::new);
        byte[] engine = ((VbnAddress) server.localAddress()).engine();
        assertTrue(refusal(new VbnAddress(engine, 6)).contains("no such service"));
        Rig.get(server.close());
        assertTrue(refusal(new VbnAddress(engine, 5)).contains("no such service"));
    }

    @Test
    void an_engines_address_that_is_none_is_an_error() {
        assertTrue(refusal(new VbnAddress(new byte[] {1, 2, 3}, 5)).contains("connect to verbena:"));
        assertThrows(UnsupportedAddressTypeException.class,
            () -> rig.connect(new LocalAddress("x"), new Sink(new byte[1])));
    }

    @Test
    void a_server_at_a_tcp_address_takes_nobody_without_its_token() throws Exception {
        VbnEventLoop loop = (VbnEventLoop) rig.servers.next();
        Channel server = rig.bind(Rig.ANY_PORT, Echo::new);
        long refused = rig.servers.counters().get("stream.refused");
        int service = greeting((InetSocketAddress) server.localAddress()).service();
        assertTrue(refusal(new VbnAddress(loop.engine().address(), service)).contains("refused"));
        assertEquals(refused + 1, rig.servers.counters().get("stream.refused"));
    }

    private static Greeting greeting(InetSocketAddress at) throws Exception {
        try (Socket socket = new Socket(at.getAddress(), at.getPort())) {
            socket.setSoTimeout((int) TimeUnit.SECONDS.toMillis(Rig.SECONDS));
            GreetingReader reader = new GreetingReader(VbnEventLoop.MESSAGE);
            byte[] bytes = new byte[64];
            while (true) {
                Greeting greeting = reader.take(ByteBuffer.wrap(bytes, 0, socket.getInputStream().read(bytes)));
                if (greeting != null) {
                    return greeting;
                }
            }
        }
    }

    @Test
    void a_place_is_taken_once() throws Exception {
        rig.bind(VbnAddress.local(5), Echo::new);
        assertThrows(BindException.class, () -> rig.bind(VbnAddress.local(5), Echo::new));
        SocketAddress tcp = rig.bind(Rig.ANY_PORT, Echo::new).localAddress();
        String text = assertThrows(BindException.class, () -> rig.bind(tcp, Echo::new)).getMessage();
        assertTrue(text.contains("bind to another port"), text);
    }

    @Test
    void hundreds_of_channels_connect_work_and_end() throws Exception {
        byte[] hello = Rig.pattern(3000, 8);
        Channel server = rig.bind(Rig.ANY_PORT, Echo::new);
        List<VbnChannel> all = new ArrayList<>();
        List<Sink> sinks = new ArrayList<>();
        for (int i = 0; i < 300; i++) {
            sinks.add(new Sink(hello));
            all.add((VbnChannel) rig.client(sinks.get(i)).connect(server.localAddress()).channel());
        }
        for (VbnChannel channel : all) {
            Rig.await("connected", channel::isActive);
            channel.writeAndFlush(io.netty.buffer.Unpooled.wrappedBuffer(hello));
        }
        for (int i = 0; i < all.size(); i++) {
            sinks.get(i).awaitReceived(hello.length);
            Rig.get(all.get(i).close());
        }
        Rig.await("all ended there", () -> rig.servers.counters().get("stream.open") == 0);
    }

    @Test
    void a_loop_runs_timers_and_tasks_of_other_threads_while_it_sleeps() throws Exception {
        for (int i = 0; i < 200; i++) {
            Thread ran = Rig.get(rig.clients.submit(Thread::currentThread));
            assertTrue(ran.getName().startsWith("verbena-netty"), ran.getName());
            Rig.get(rig.clients.schedule(() -> "done", i % 3, TimeUnit.MILLISECONDS));
        }
    }

    @Test
    void ending_the_loops_closes_their_channels_on_both_sides() throws Exception {
        Channel server = rig.bind(VbnAddress.local(0), Echo::new);
        Sink sink = new Sink(new byte[1]);
        VbnChannel channel = rig.connect(server.localAddress(), sink);
        Rig.end(rig.servers);
        assertFalse(server.isOpen());
        Rig.await("inactive", () -> sink.events.contains("inactive"));
        assertFalse(channel.isOpen());
    }

    @Test
    void what_was_written_reaches_the_peer_when_the_loops_end_at_once() throws Exception {
        byte[] all = Rig.pattern(500_000, 3);
        Sink reader = new Sink(all);
        Channel server = rig.bind(VbnAddress.local(0), () -> reader);
        VbnChannel channel = rig.connect(server.localAddress(), new Sink(all));
        Rig.get(channel.writeAndFlush(io.netty.buffer.Unpooled.wrappedBuffer(all)));
        Rig.get(channel.close());
        Rig.end(rig.clients);
        Rig.await("inactive", () -> reader.events.contains("inactive"));
        reader.awaitReceived(all.length);
        assertEquals(List.of(), reader.failures);
    }

    /** The writer ends, then its process; the reader reads all of it later, one buffer at a time. */
    @Test
    @SuppressWarnings("deprecation") // MAX_MESSAGES_PER_READ: the shortest way to one buffer at a time
    void an_end_that_came_before_the_peer_was_lost_is_no_failure() throws Exception {
        byte[] all = Rig.pattern(500_000, 3);
        Sink reader = new Sink(all);
        CompletableFuture<VbnChannel> accepted = new CompletableFuture<>();
        Channel server = Rig.get(rig.server(() -> new ChannelInboundHandlerAdapter() {
            @Override
            public void handlerAdded(ChannelHandlerContext context) {
                context.pipeline().addLast(reader);
                accepted.complete((VbnChannel) context.channel());
            }
        }).childOption(ChannelOption.AUTO_READ, false).childOption(ChannelOption.MAX_MESSAGES_PER_READ, 1)
            .bind(VbnAddress.local(0))).channel();
        VbnChannel channel = rig.connect(server.localAddress(), new Sink(all));
        Rig.get(channel.writeAndFlush(io.netty.buffer.Unpooled.wrappedBuffer(all)));
        Rig.get(channel.close());
        VbnChannel readers = accepted.get(Rig.SECONDS, TimeUnit.SECONDS);
        Rig.end(rig.clients);
        Rig.await("the loss", () -> readers.peer().isLost());
        readers.config().setAutoRead(true);
        Rig.await("inactive", () -> reader.events.contains("inactive"));
        reader.awaitReceived(all.length);
        assertEquals(List.of(), reader.failures);
    }

    @Test
    void a_context_that_is_closed_first_ends_the_loops_and_their_channels() throws Exception {
        org.verbena.core.VbnContext context = Rig.context("self,shm,tcp");
        VbnEventLoopGroup group = new VbnEventLoopGroup(context, 2);
        Channel server = rig.bind(VbnAddress.local(0), Echo::new);
        Sink sink = new Sink(new byte[1]);
        Channel channel = Rig.get(new io.netty.bootstrap.Bootstrap().group(group).channel(VbnChannel.class).handler(sink)
            .connect(server.localAddress())).channel();
        context.close();
        Rig.await("inactive", () -> sink.events.contains("inactive"));
        assertFalse(channel.isOpen());
        Rig.end(group);
        assertThrows(IllegalStateException.class, () -> new VbnEventLoopGroup(context, 1));
    }
}
