// SPDX-License-Identifier: Apache-2.0
package org.verbena.core.stream;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.ByteBuffer;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.BooleanSupplier;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.verbena.core.Fixture;
import org.verbena.core.VbnContext;
import org.verbena.core.VbnEngine;
import org.verbena.core.VbnException;
import org.verbena.core.VbnPeer;

/** A reader whose engine the test drives, so that it is known what has been pulled when the writer ends. */
class StreamLossTest {
    /** A writer of streams, and a reader that accepts service 1: the last stream that it got. */
    private record Ends(VbnEngine reader, VbnStreams in, VbnStreams out, AtomicReference<VbnStream> accepted, VbnPeer peer) {
        static Ends of(Fixture fixture, String transports) throws Exception {
            VbnEngine reader = fixture.context(transports).attachEngine("reader");
            VbnEngine writer = fixture.context(transports).startEngine("writer");
            VbnStreams in = new VbnStreams(reader, StreamServer.MESSAGE, StreamLimits.DEFAULT);
            AtomicReference<VbnStream> accepted = new AtomicReference<>();
            in.serve(1, (stream, hello) -> accepted.getAndSet(stream) != stream);
            return new Ends(reader, in, new VbnStreams(writer, StreamServer.MESSAGE, StreamLimits.DEFAULT), accepted,
                writer.connect(reader.address(), null));
        }
    }

    private static void turnUntil(VbnEngine engine, BooleanSupplier condition) throws Exception {
        long deadline = System.nanoTime() + Fixture.TIMEOUT_SECONDS * 1_000_000_000;
        while (!condition.getAsBoolean()) {
            assertTrue(System.nanoTime() < deadline, "it does not come");
            engine.turn(1_000_000);
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {"self,shm", "tcp"})
    void data_that_could_not_be_pulled_is_a_failure_and_not_the_end(String transports) throws Exception {
        try (Fixture fixture = new Fixture()) {
            VbnContext context = fixture.context(transports);
            VbnEngine reader = context.attachEngine("reader");
            VbnEngine writer = fixture.context(transports).startEngine("writer");
            VbnStreams in = new VbnStreams(reader, StreamServer.MESSAGE, StreamLimits.DEFAULT);
            VbnStreams out = new VbnStreams(writer, StreamServer.MESSAGE, StreamLimits.DEFAULT);
            AtomicReference<VbnStream> accepted = new AtomicReference<>();
            in.serve(1, (stream, hello) -> accepted.compareAndSet(null, stream));
            VbnPeer peer = writer.connect(reader.address(), null);
            VbnStream sent = out.open(peer, 1, new byte[0]);
            turnUntil(reader, sent::isAccepted);
            assertEquals(200_000, sent.write(ByteBuffer.allocate(200_000)));
            sent.close();
            Fixture.await("the end is on its way, the data only announced", () -> out.sending() == 1);
            VbnStream got = accepted.get();
            turnUntil(reader, () -> got.received() == 200_000); // the turn that gets the announcement does not pull yet
            writer.close();
            turnUntil(reader, () -> got.failure() != null);
            ByteBuffer space = ByteBuffer.allocate(300_000);
            assertThrows(VbnException.class, () -> readAll(got, space));
            assertEquals(0, space.position());
            got.close();
        }
    }

    private static void readAll(VbnStream stream, ByteBuffer space) throws VbnException {
        for (int i = 0; i < 100; i++) {
            if (stream.read(space) < 0) {
                return;
            }
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {"self,shm", "tcp"})
    void a_stream_opened_at_once_takes_bytes_before_the_other_side_has_heard_of_it(String transports) throws Exception {
        try (Fixture fixture = new Fixture()) {
            Ends ends = Ends.of(fixture, transports);
            VbnEngine reader = ends.reader;
            VbnStreams in = ends.in;
            VbnStreams out = ends.out;
            AtomicReference<VbnStream> accepted = ends.accepted;
            VbnPeer peer = ends.peer;
            try (VbnStream first = out.openAtOnce(peer, 1, new byte[0])) {
                assertFalse(first.isWritable(), "what the peer would let it send is not known");
                turnUntil(reader, first::isAccepted);
            }
            try (VbnStream second = out.openAtOnce(peer, 1, new byte[0]);
                VbnStream nowhere = out.openAtOnce(peer, 2, new byte[0])) {
                int window = StreamLimits.DEFAULT.window();
                assertEquals(window, second.write(ByteBuffer.allocate(2 * window))); // nobody drives the reader
                assertFalse(second.isWritable() || second.isAccepted());
                assertEquals(300_000, nowhere.write(ByteBuffer.allocate(300_000)));
                turnUntil(reader, () -> nowhere.failure() != null && out.sending() == 0);
                assertTrue(nowhere.isRefused() && !second.isRefused());
                assertEquals(window, accepted.get().received());
                assertFalse(second.isAccepted(), "no frame has said so");
                turnUntil(reader, () -> readSome(accepted.get()) == 0 && second.isWritable());
                assertTrue(second.isAccepted());
                assertEquals(0, in.counters().get("stream.violations") + out.counters().get("stream.violations"));
            }
        }
    }

    private static long frames(VbnStreams streams) {
        return streams.counters().get("stream.sent_frames");
    }

    /** What a small file costs: no frame of an exchange serves the opening of its stream but OPEN itself. */
    @ParameterizedTest
    @ValueSource(strings = {"self,shm", "tcp"})
    void an_exchange_by_a_stream_of_its_own_takes_five_frames(String transports) throws Exception {
        try (Fixture fixture = new Fixture()) {
            Ends ends = Ends.of(fixture, transports);
            VbnEngine reader = ends.reader;
            VbnStreams in = ends.in;
            VbnStreams out = ends.out;
            AtomicReference<VbnStream> accepted = ends.accepted;
            VbnPeer peer = ends.peer;
            try (VbnStream first = out.openAtOnce(peer, 1, new byte[0])) {
                turnUntil(reader, first::isAccepted);
            }
            long asked = frames(out);
            long answered = frames(in);
            try (VbnStream question = out.openAtOnce(peer, 1, new byte[0])) {
                question.write(ByteBuffer.allocate(200));
                turnUntil(reader, () -> accepted.get().received() == 200);
                assertEquals(200, readSome(accepted.get()));
                accepted.get().write(ByteBuffer.allocate(300));
                accepted.get().close();
                turnUntil(reader, () -> readSome(question) == 300);
            }
            assertEquals(3, frames(out) - asked, "OPEN, DATA, FIN");
            assertEquals(2, frames(in) - answered, "DATA, FIN");
        }
    }

    private static int readSome(VbnStream stream) {
        try {
            return stream.read(ByteBuffer.allocate(1 << 20));
        } catch (VbnException e) {
            throw new AssertionError(e);
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {"self,shm", "tcp"})
    void a_flush_tells_when_the_peers_have_what_was_sent(String transports) throws Exception {
        try (Fixture fixture = new Fixture()) {
            VbnContext context = fixture.context(transports);
            VbnEngine reader = context.attachEngine("reader");
            VbnEngine writer = fixture.context(transports).startEngine("writer");
            VbnStreams in = new VbnStreams(reader, StreamServer.MESSAGE, StreamLimits.DEFAULT);
            VbnStreams out = new VbnStreams(writer, StreamServer.MESSAGE, StreamLimits.DEFAULT);
            AtomicReference<VbnStream> accepted = new AtomicReference<>();
            in.serve(1, (stream, hello) -> accepted.compareAndSet(null, stream));
            VbnPeer peer = writer.connect(reader.address(), null);
            try (VbnStream sent = out.open(peer, 1, new byte[0])) {
                turnUntil(reader, sent::isAccepted);
                assertEquals(900_000, sent.write(ByteBuffer.allocate(900_000)));
                assertTrue(out.sending() > 0, "the reader has not pulled: nobody drives it");
                turnUntil(reader, () -> out.sending() == 0);
                sent.write(ByteBuffer.allocate(1000));
                AtomicBoolean flushed = new AtomicBoolean();
                out.flush(() -> flushed.set(true));
                turnUntil(reader, flushed::get);
                assertEquals(901_000, accepted.get().received());
                peer.close();
            }
        }
    }
}
