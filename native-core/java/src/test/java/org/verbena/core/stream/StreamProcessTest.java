// SPDX-License-Identifier: Apache-2.0
package org.verbena.core.stream;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.List;
import java.util.Random;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.verbena.core.Child;
import org.verbena.core.Fixture;
import org.verbena.core.VbnEngine;
import org.verbena.core.VbnPeer;

/** Streams between two JVMs. */
class StreamProcessTest {
    private static BlockingStream open(VbnStreams streams, VbnPeer peer, int service, byte... hello) {
        BlockingStream stream = new BlockingStream(streams.open(peer, service, hello));
        stream.readTimeout(60_000);
        stream.writeTimeout(60_000);
        return stream;
    }

    /** Writes in pieces of changing sizes, reads the echo at the same time, compares. */
    private static void exchange(BlockingStream stream, int length, int seed) {
        byte[] all = new byte[length];
        Fixture.pattern(length, seed).get(all);
        CompletableFuture<Void> writing = CompletableFuture.runAsync(() -> {
            Random random = new Random(seed);
            try {
                for (int at = 0; at < length;) {
                    int piece = Math.min(length - at, 1 + random.nextInt(random.nextBoolean() ? 100 : 300_000));
                    stream.write(ByteBuffer.wrap(all, at, piece));
                    at += piece;
                }
                stream.endOutput();
            } catch (IOException e) {
                throw new AssertionError("seed " + seed, e);
            }
        }, command -> new Thread(command, "writer").start());
        try (stream) {
            assertEquals(ByteBuffer.wrap(all), StreamTest.readAll(stream, length), "seed " + seed);
            Fixture.get(writing);
        } catch (Exception e) {
            throw new AssertionError("seed " + seed, e);
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {"self,shm", "tcp"})
    void bytes_come_back_in_order_on_many_streams_at_once(String transports) throws Exception {
        ExecutorService users = Executors.newFixedThreadPool(8);
        try (Child child = new Child(List.of(), "streams", transports); Fixture fixture = new Fixture();
                VbnEngine engine = fixture.context(transports).startEngine("client");
                VbnStreams streams = new VbnStreams(engine, StreamServer.MESSAGE, StreamLimits.DEFAULT)) {
            VbnPeer peer = engine.connect(HexFormat.of().parseHex(child.expect("address")), null);
            List<CompletableFuture<Void>> all = new ArrayList<>();
            int[] lengths = {0, 1, 100, 4096, 65_536, 1_000_003, 5_000_000};
            for (int i = 0; i < 5 * lengths.length; i++) {
                int seed = i;
                int length = lengths[i % lengths.length];
                all.add(CompletableFuture.runAsync(
                    () -> exchange(open(streams, peer, StreamServer.ECHO), length, seed), users));
            }
            for (CompletableFuture<Void> one : all) {
                Fixture.get(one);
            }
            assertTrue(streams.counters().get("stream.pulled_bytes") > 0, streams.counters().toString());
            assertEquals(0, streams.counters().get("stream.violations"));
            assertTrue(child.finish().contains("violations 0"));
            peer.close();
        } finally {
            users.shutdownNow();
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {"self,shm", "tcp"})
    void a_process_that_is_killed_fails_its_streams_after_what_had_arrived(String transports) throws Exception {
        try (Child child = new Child(List.of(), "streams", transports); Fixture fixture = new Fixture();
                VbnEngine engine = fixture.context(transports).startEngine("client");
                VbnStreams streams = new VbnStreams(engine, StreamServer.MESSAGE, StreamLimits.DEFAULT)) {
            VbnPeer peer = engine.connect(HexFormat.of().parseHex(child.expect("address")), null);
            try (BlockingStream stream = open(streams, peer, StreamServer.DIES, (byte) 1, (byte) 2)) {
                Fixture.await("two bytes", () -> stream.stream().received() == 2);
                child.kill();
                ByteBuffer got = ByteBuffer.allocate(10);
                stream.read(got);
                assertEquals(2, got.position());
                assertThrows(IOException.class, () -> stream.read(got));
            }
            try (BlockingStream late = open(streams, peer, StreamServer.ECHO)) {
                assertThrows(IOException.class, () -> late.awaitAccepted(60_000));
            }
            Fixture.await("nothing stays", () -> streams.counters().get("stream.open") == 0);
            peer.close();
        }
    }
}
