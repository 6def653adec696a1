// SPDX-License-Identifier: Apache-2.0
package org.verbena.netty;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.netty.buffer.Unpooled;
import io.netty.channel.Channel;
import java.net.InetSocketAddress;
import java.net.SocketAddress;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Bytes that go to an echo server and come back, within one JVM. */
@ExtendWith(TestWatch.class)
class EchoTest {
    private static final byte[] HELLO = Rig.pattern(1000, 7);

    @ParameterizedTest
    @ValueSource(strings = {"self,shm", "tcp", "self,shm" + Rig.SHARED})
    void a_service_of_an_engine_answers(String transports) throws Exception {
        try (Rig rig = new Rig(transports)) {
            Channel server = rig.bind(VbnAddress.local(17), Echo::new);
            assertEquals(17, ((VbnAddress) server.localAddress()).service());
            Sink sink = new Sink(HELLO);
            VbnChannel channel = rig.connect(server.localAddress(), sink);
            assertEquals(transports.contains("shm") ? "shm" : "tcp", channel.peer().transport());
            assertEquals(server.localAddress(), channel.remoteAddress());
            channel.writeAndFlush(Unpooled.wrappedBuffer(HELLO));
            sink.awaitReceived(HELLO.length);
            Rig.get(channel.close());
            Rig.await("inactive", () -> sink.events.equals(List.of("active", "inactive")));
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {"self,shm", "tcp", "self,shm" + Rig.SHARED})
    void a_tcp_address_leads_to_the_engine_and_both_know_the_others_address(String transports) throws Exception {
        try (Rig rig = new Rig(transports)) {
            List<SocketAddress> clients = new java.util.concurrent.CopyOnWriteArrayList<>();
            Channel server = rig.bind(Rig.ANY_PORT, () -> new Echo() {
                @Override
                public void channelActive(io.netty.channel.ChannelHandlerContext context) {
                    clients.add(context.channel().remoteAddress());
                }
            });
            Sink sink = new Sink(HELLO);
            VbnChannel channel = rig.connect(server.localAddress(), sink);
            channel.writeAndFlush(Unpooled.wrappedBuffer(HELLO));
            sink.awaitReceived(HELLO.length);
            assertEquals(server.localAddress(), channel.remoteAddress());
            assertEquals(List.of(channel.localAddress()), clients);
            assertTrue(((InetSocketAddress) channel.localAddress()).getAddress().isLoopbackAddress());
            Rig.get(channel.close());
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {"self,shm", "tcp", "self,shm" + Rig.SHARED})
    void writes_of_any_size_and_kind_come_back_in_order(String transports) throws Exception {
        byte[] all = Rig.pattern(3_000_017, 3);
        try (Rig rig = new Rig(transports)) {
            Channel server = rig.bind(VbnAddress.local(0), Echo::new);
            Sink sink = new Sink(all);
            VbnChannel channel = rig.connect(server.localAddress(), sink);
            Random random = new Random(4);
            for (int at = 0; at < all.length;) {
                int length = Math.min(all.length - at, random.nextInt(random.nextInt(10) == 0 ? 200_000 : 300));
                channel.write(random.nextBoolean() ? Unpooled.wrappedBuffer(all, at, length)
                    : channel.alloc().directBuffer().writeBytes(all, at, length));
                if (random.nextInt(5) == 0) {
                    channel.flush();
                }
                at += length;
            }
            channel.flush();
            sink.awaitReceived(all.length);
            Rig.get(channel.close());
        }
    }
}
