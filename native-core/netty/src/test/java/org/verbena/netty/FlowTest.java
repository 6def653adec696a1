// SPDX-License-Identifier: Apache-2.0
package org.verbena.netty;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.netty.buffer.ByteBufAllocator;
import io.netty.buffer.Unpooled;
import io.netty.channel.Channel;
import io.netty.channel.ChannelFuture;
import io.netty.channel.ChannelInboundHandlerAdapter;
import io.netty.channel.ChannelOption;
import io.netty.channel.DefaultFileRegion;
import io.netty.channel.WriteBufferWaterMark;
import java.io.IOException;
import java.lang.reflect.Proxy;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.verbena.core.plugin.BufferBudget;
import org.verbena.core.stream.StreamLimits;

/** Amounts, back-pressure and the ends of channels. */
@ExtendWith(TestWatch.class)
class FlowTest {
    private static final int MIB = 1 << 20;

    @ParameterizedTest
    @ValueSource(strings = {"self,shm", "tcp", "self,shm" + Rig.SHARED})
    void a_hundred_mebibytes_go_there_and_back(String transports) throws Exception {
        byte[] piece = Rig.pattern(MIB, 5);
        try (Rig rig = new Rig(transports)) {
            Channel server = rig.bind(VbnAddress.local(0), Echo::new);
            Sink sink = new Sink(piece);
            VbnChannel channel = rig.connect(server.localAddress(), sink);
            channel.writeAndFlush(Unpooled.wrappedBuffer(Unpooled.wrappedBuffer(piece), Unpooled.wrappedBuffer(piece)));
            ChannelFuture last = null;
            for (int i = 2; i < 100; i++) {
                last = channel.writeAndFlush(Unpooled.wrappedBuffer(piece));
            }
            Rig.get(last);
            sink.awaitReceived(100L * MIB);
            Rig.get(channel.close());
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {"self,shm", "tcp", "self,shm" + Rig.SHARED})
    void channels_with_little_memory_for_all_get_their_bytes(String transports) throws Exception {
        byte[] piece = Rig.pattern(MIB, 3);
        BufferBudget memory = new BufferBudget(MIB, 0, 0);
        try (Rig rig = new Rig(transports, memory)) {
            Channel server = rig.bind(VbnAddress.local(0), Echo::new);
            List<Sink> sinks = new ArrayList<>();
            List<VbnChannel> channels = new ArrayList<>();
            for (int i = 0; i < 4; i++) {
                sinks.add(new Sink(piece));
                channels.add(rig.connect(server.localAddress(), sinks.get(i)));
            }
            assertTrue(memory.reserved() > MIB, "more than all have, for the leasts alone");
            for (int i = 0; i < 4; i++) {
                channels.forEach(channel -> channel.writeAndFlush(Unpooled.wrappedBuffer(piece)));
            }
            for (Sink sink : sinks) {
                sink.awaitReceived(4L * MIB);
            }
            for (VbnChannel channel : channels) {
                Rig.get(channel.close());
            }
        }
        assertEquals(0, memory.used());
        assertEquals(0, memory.reserved());
    }

    @ParameterizedTest
    @ValueSource(strings = {"self,shm", "tcp", "self,shm" + Rig.SHARED})
    void many_small_writes_leave_in_few_messages(String transports) throws Exception {
        byte[] all = Rig.pattern(1_000_000, 9);
        try (Rig rig = new Rig(transports)) {
            Channel server = rig.bind(VbnAddress.local(0), Echo::new);
            Sink sink = new Sink(all);
            VbnChannel channel = rig.connect(server.localAddress(), sink);
            channel.eventLoop().execute(() -> {
                for (int at = 0; at < all.length; at += 10) {
                    channel.write(Unpooled.wrappedBuffer(all, at, 10), channel.voidPromise());
                }
                channel.flush();
            });
            sink.awaitReceived(all.length);
            long messages = rig.clients.counters().get("stream.sent_messages");
            assertTrue(messages <= 200, messages + " messages for 100,000 writes, of which 1,024 fit one");
            Rig.get(channel.close());
        }
    }

    /** Before, what a loop that has had no turn for long sends at once makes the channel writable again. */
    private static boolean isWindowFull(Rig rig) {
        return rig.clients.counters().get("stream.sent_bytes") == StreamLimits.DEFAULT.window();
    }

    @ParameterizedTest
    @ValueSource(strings = {"self,shm", "tcp", "self,shm" + Rig.SHARED})
    void a_reader_that_does_not_read_makes_the_writer_unwritable_until_it_does(String transports) throws Exception {
        byte[] piece = Rig.pattern(64 << 10, 1);
        try (Rig rig = new Rig(transports)) {
            Sink reader = new Sink(piece);
            CompletableFuture<Channel> accepted = new CompletableFuture<>();
            Channel server = Rig.get(rig.server(() -> new ChannelInboundHandlerAdapter() {
                @Override
                public void handlerAdded(io.netty.channel.ChannelHandlerContext context) {
                    context.pipeline().addLast(reader);
                    accepted.complete(context.channel());
                }
            }).childOption(ChannelOption.AUTO_READ, false).bind(VbnAddress.local(0))).channel();
            Sink events = new Sink(piece);
            VbnChannel channel = (VbnChannel) Rig.get(rig.client(events)
                .option(ChannelOption.WRITE_BUFFER_WATER_MARK, new WriteBufferWaterMark(100_000, 200_000))
                .connect(server.localAddress())).channel();
            int pieces = 0;
            for (; (channel.isWritable() || !isWindowFull(rig)) && pieces < 1000; pieces++) {
                channel.writeAndFlush(Unpooled.wrappedBuffer(piece)).await(100, TimeUnit.MILLISECONDS);
            }
            assertTrue(pieces < 1000, "a window of 1 MiB and a mark of 200,000 bytes are full before 1000 pieces");
            assertEquals(0, reader.received.get());
            Rig.await("the event", () -> events.events.contains("full"));
            accepted.get(Rig.SECONDS, TimeUnit.SECONDS).config().setAutoRead(true);
            reader.awaitReceived((long) pieces * piece.length);
            Rig.await("writable again", () -> channel.isWritable() && events.events.contains("writable"));
            Rig.get(channel.close());
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {"self,shm", "tcp", "self,shm" + Rig.SHARED})
    void one_direction_ends_before_the_other(String transports) throws Exception {
        byte[] all = Rig.pattern(2_000_000, 2);
        try (Rig rig = new Rig(transports)) {
            Channel server = Rig.get(rig.server(Echo::new).childOption(ChannelOption.ALLOW_HALF_CLOSURE, true)
                .bind(VbnAddress.local(0))).channel();
            Sink sink = new Sink(all);
            VbnChannel channel = (VbnChannel) Rig.get(rig.client(sink).option(ChannelOption.ALLOW_HALF_CLOSURE, true)
                .connect(server.localAddress())).channel();
            Rig.get(channel.writeAndFlush(Unpooled.wrappedBuffer(all)));
            Rig.get(channel.shutdownOutput());
            assertTrue(channel.isOutputShutdown() && channel.isActive());
            sink.awaitReceived(all.length);
            Rig.await("the end", () -> sink.events.contains("ChannelInputShutdownReadComplete"));
            assertEquals(
                List.of("ChannelOutputShutdownEvent", "ChannelInputShutdownEvent", "ChannelInputShutdownReadComplete"),
                sink.events.stream().filter(event -> event.contains("Shutdown")).toList());
            assertTrue(channel.isShutdown() && channel.isOpen());
            assertThrows(IOException.class, () -> Rig.get(channel.writeAndFlush(Unpooled.wrappedBuffer(all, 0, 1))));
            Rig.get(channel.close());
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {"self,shm", "tcp", "self,shm" + Rig.SHARED})
    void what_was_written_before_a_close_arrives_and_then_the_channel_is_inactive(String transports) throws Exception {
        byte[] all = Rig.pattern(900_000, 2);
        try (Rig rig = new Rig(transports)) {
            Sink reader = new Sink(all);
            Channel server = rig.bind(VbnAddress.local(0), () -> reader);
            VbnChannel channel = rig.connect(server.localAddress(), new Sink(all));
            Rig.get(channel.writeAndFlush(Unpooled.wrappedBuffer(all)));
            Rig.get(channel.close());
            Rig.await("inactive", () -> reader.events.contains("inactive"));
            reader.awaitReceived(all.length);
            assertEquals(List.of(), reader.failures);
        }
    }

    @Test
    void a_close_with_linger_0_is_a_reset() throws Exception {
        try (Rig rig = new Rig("self,shm")) {
            Sink reader = new Sink(new byte[1]);
            Channel server = rig.bind(VbnAddress.local(0), () -> reader);
            VbnChannel channel = (VbnChannel) Rig.get(rig.client(new Sink(new byte[1])).option(ChannelOption.SO_LINGER, 0)
                .connect(server.localAddress())).channel();
            Rig.await("accepted", () -> reader.events.contains("active"));
            Rig.get(channel.close());
            Rig.await("inactive", () -> reader.events.contains("inactive"));
            assertEquals(1, reader.failures.size());
        }
    }

    @Test
    void input_that_was_shut_down_does_not_stop_the_other_side() throws Exception {
        try (Rig rig = new Rig("self,shm")) {
            CompletableFuture<Channel> accepted = new CompletableFuture<>();
            Channel server = rig.bind(VbnAddress.local(0), () -> new ChannelInboundHandlerAdapter() {
                @Override
                public void channelActive(io.netty.channel.ChannelHandlerContext context) {
                    accepted.complete(context.channel());
                }
            });
            Sink sink = new Sink(new byte[1]);
            VbnChannel channel = rig.connect(server.localAddress(), sink);
            Rig.get(channel.shutdownInput());
            Channel writer = accepted.get(Rig.SECONDS, TimeUnit.SECONDS);
            Rig.get(writer.writeAndFlush(Rig.buffer(5 * MIB, 1)));
            assertEquals(0, sink.received.get());
            Rig.get(channel.close());
        }
    }

    @Test
    void a_file_region_is_sent(@TempDir Path folder) throws Exception {
        byte[] all = Rig.pattern(3 * MIB + 11, 4);
        Path file = Files.write(folder.resolve("file"), all);
        try (Rig rig = new Rig("self,shm")) {
            Channel server = rig.bind(VbnAddress.local(0), Echo::new);
            Sink sink = new Sink(java.util.Arrays.copyOfRange(all, 7, all.length));
            VbnChannel channel = rig.connect(server.localAddress(), sink);
            Rig.get(channel.writeAndFlush(new DefaultFileRegion(file.toFile(), 7, all.length - 7)));
            sink.awaitReceived(all.length - 7);
            Rig.get(channel.close());
        }
    }

    @Test
    void messages_that_are_no_bytes_are_refused() throws Exception {
        try (Rig rig = new Rig("self,shm")) {
            Channel server = rig.bind(VbnAddress.local(0), Echo::new);
            VbnChannel channel = rig.connect(server.localAddress(), new Sink(new byte[1]));
            assertThrows(UnsupportedOperationException.class, () -> Rig.get(channel.writeAndFlush("text")));
            assertTrue(channel.isActive());
            assertTrue(channel.config().setOption(ChannelOption.TCP_NODELAY, false));
            assertFalse(channel.config().getOption(ChannelOption.TCP_NODELAY));
            Rig.get(channel.close());
        }
    }

    @Test
    void the_leak_detector_finds_what_was_not_released() throws Exception {
        Leaks.watch();
        assertEquals(List.of(), Leaks.take());
        forget();
        Rig.await("a report", () -> !Leaks.take().isEmpty());
    }

    private static void forget() {
        io.netty.buffer.ByteBufAllocator.DEFAULT.directBuffer(100).writeByte(1);
    }

    @ParameterizedTest
    @ValueSource(strings = {"self,shm", "tcp", "self,shm" + Rig.SHARED})
    void a_channel_without_memory_for_what_comes_is_closed_with_the_cause(String transports) throws Exception {
        byte[] piece = Rig.pattern(1000, 2);
        ByteBufAllocator none = (ByteBufAllocator) Proxy.newProxyInstance(FlowTest.class.getClassLoader(),
            new Class<?>[] {ByteBufAllocator.class}, (proxy, method, words) -> {
                throw new OutOfMemoryError("no direct memory, says the test");
            });
        try (Rig rig = new Rig(transports)) {
            Sink reader = new Sink(piece);
            Channel server = Rig.get(rig.server(() -> reader).childOption(ChannelOption.ALLOCATOR, none).bind(VbnAddress.local(0)))
                .channel();
            Sink sink = new Sink(piece);
            VbnChannel channel = rig.connect(server.localAddress(), sink);
            channel.writeAndFlush(Unpooled.wrappedBuffer(piece));
            Rig.get(channel.closeFuture());
            Rig.await("inactive", () -> reader.events.contains("inactive"));
            assertEquals("no direct memory, says the test", reader.failures.get(0).getMessage());
        }
    }
}
