// SPDX-License-Identifier: Apache-2.0
package org.verbena.netty;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.netty.buffer.Unpooled;
import io.netty.channel.ChannelOption;
import io.netty.channel.ConnectTimeoutException;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.verbena.core.VbnException;
import org.verbena.core.VbnStatus;

/** Channels between two JVMs. */
@ExtendWith(TestWatch.class)
class ProcessTest {
    private static final byte[] PATTERN = Rig.pattern(100_003, 6);

    private static VbnAddress engine(Child child) throws InterruptedException {
        return new VbnAddress(HexFormat.of().parseHex(child.expect("engine")), 9);
    }

    private static InetSocketAddress tcp(Child child) throws InterruptedException {
        return new InetSocketAddress(InetAddress.getLoopbackAddress(), Integer.parseInt(child.expect("tcp")));
    }

    @ParameterizedTest
    @ValueSource(strings = {"self,shm", "tcp", "self,shm" + Rig.SHARED})
    void hundreds_of_channels_echo_at_once(String transports) throws Exception {
        try (Child child = new Child(transports); Rig rig = new Rig(transports)) {
            InetSocketAddress server = tcp(child);
            List<VbnChannel> channels = new ArrayList<>();
            List<Sink> sinks = new ArrayList<>();
            for (int i = 0; i < 200; i++) {
                sinks.add(new Sink(PATTERN));
                channels.add((VbnChannel) rig.client(sinks.get(i)).connect(server).channel());
            }
            for (VbnChannel channel : channels) {
                Rig.await("connected", channel::isActive);
                channel.writeAndFlush(Unpooled.wrappedBuffer(PATTERN));
            }
            assertEquals(transports.contains("shm") ? "shm" : "tcp", channels.get(0).peer().transport());
            for (int i = 0; i < channels.size(); i++) {
                sinks.get(i).awaitReceived(PATTERN.length);
                Rig.get(channels.get(i).close());
            }
            int exit = child.finish();
            child.expect("ended");
            assertEquals(0, exit);
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {"self,shm", "tcp", "self,shm" + Rig.SHARED})
    void a_peer_that_is_killed_makes_its_channels_inactive_with_the_cause(String transports) throws Exception {
        try (Child child = new Child(transports); Rig rig = new Rig(transports)) {
            VbnAddress server = engine(child);
            List<VbnChannel> channels = new ArrayList<>();
            List<Sink> sinks = new ArrayList<>();
            for (int i = 0; i < 20; i++) {
                sinks.add(new Sink(PATTERN));
                channels.add(rig.connect(server, sinks.get(i)));
                channels.get(i).writeAndFlush(Unpooled.wrappedBuffer(PATTERN));
                sinks.get(i).awaitReceived(PATTERN.length);
            }
            child.kill();
            for (int i = 0; i < channels.size(); i++) {
                Sink sink = sinks.get(i);
                Rig.await("inactive", () -> sink.events.contains("inactive"));
                assertEquals(1, sink.failures.size());
                VbnException cause = assertInstanceOf(VbnException.class, sink.failures.get(0));
                assertEquals(VbnStatus.PEER_LOST, cause.kind());
                assertTrue(cause.getMessage().matches("(?s).*(ended|broke).*"), cause.getMessage()); // FIN, or reset
                VbnChannel dead = channels.get(i);
                assertThrows(IOException.class, () -> Rig.get(dead.writeAndFlush(Unpooled.wrappedBuffer(PATTERN))));
            }
            String text = assertThrows(IOException.class, () -> Rig.get(rig.client(new Sink(PATTERN))
                .option(ChannelOption.CONNECT_TIMEOUT_MILLIS, 20_000).connect(server))).getMessage();
            assertTrue(text.contains("verbena:"), text);
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {"self,shm", "tcp", "self,shm" + Rig.SHARED})
    void a_peer_that_is_stopped_does_not_accept_in_time(String transports) throws Exception {
        try (Child child = new Child(transports); Rig rig = new Rig(transports)) {
            InetSocketAddress server = tcp(child);
            VbnChannel first = rig.connect(server, new Sink(PATTERN));
            signal(child, "STOP");
            try {
                Rig.await("all its threads have stopped", () -> stopped(child));
                assertThrows(ConnectTimeoutException.class, () -> Rig.get(rig.client(new Sink(PATTERN))
                    .option(ChannelOption.CONNECT_TIMEOUT_MILLIS, 100).connect(server)));
            } finally {
                signal(child, "CONT");
            }
            Rig.get(first.close());
            Rig.get(rig.connect(server, new Sink(PATTERN)).close());
            assertEquals(0, child.finish());
        }
    }

    private static boolean stopped(Child child) {
        try (Stream<Path> threads = Files.list(Path.of("/proc/" + child.pid() + "/task"))) {
            for (Path thread : threads.toList()) {
                String stat = Files.readString(thread.resolve("stat"));
                if (!stat.substring(stat.lastIndexOf(')')).startsWith(") T")) {
                    return false;
                }
            }
            return true;
        } catch (IOException e) {
            return false; // a thread has ended
        }
    }

    private static void signal(Child child, String name) throws Exception {
        assertEquals(0, new ProcessBuilder("kill", "-" + name, Long.toString(child.pid())).start().waitFor());
    }
}
