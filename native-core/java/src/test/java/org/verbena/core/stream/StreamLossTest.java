// SPDX-License-Identifier: Apache-2.0
package org.verbena.core.stream;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.ByteBuffer;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.BooleanSupplier;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.verbena.core.Fixture;
import org.verbena.core.VbnEngine;
import org.verbena.core.VbnException;

/** A reader whose engine the test drives, so that it is known what has been pulled when the writer ends. */
class StreamLossTest {
    private static StreamEnds ends(Fixture fixture, String transports) throws Exception {
        return StreamEnds.of(fixture.context(transports).attachEngine("reader"), fixture.context(transports).startEngine("writer"));
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
            StreamEnds ends = ends(fixture, transports);
            VbnEngine reader = ends.in.engine();
            VbnStreams out = ends.out;
            VbnStream sent = ends.open();
            turnUntil(reader, sent::isAccepted);
            assertEquals(200_000, sent.write(ByteBuffer.allocate(200_000)));
            sent.close();
            Fixture.await("the end is on its way, the data only announced", () -> out.sending() == 1);
            VbnStream got = ends.accepted();
            turnUntil(reader, () -> got.received() == 200_000); // the turn that gets the announcement does not pull yet
            out.engine().close();
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
            StreamEnds ends = ends(fixture, transports);
            VbnEngine reader = ends.in.engine();
            VbnStreams out = ends.out;
            try (VbnStream first = ends.openAtOnce()) {
                assertFalse(first.isWritable(), "what the peer would let it send is not known");
                turnUntil(reader, first::isAccepted);
            }
            try (VbnStream second = ends.openAtOnce();
                VbnStream nowhere = out.openAtOnce(ends.peer, 2, new byte[0])) {
                int window = StreamLimits.DEFAULT.window();
                assertEquals(window, second.write(ByteBuffer.allocate(2 * window))); // nobody drives the reader
                assertFalse(second.isWritable() || second.isAccepted());
                assertEquals(300_000, nowhere.write(ByteBuffer.allocate(300_000)));
                turnUntil(reader, () -> nowhere.failure() != null && out.sending() == 0);
                assertTrue(nowhere.isRefused() && !second.isRefused());
                assertEquals(window, ends.received());
                assertFalse(second.isAccepted(), "no frame has said so");
                VbnStream got = ends.accepted();
                turnUntil(reader, () -> readSome(got) == 0 && second.isWritable());
                assertTrue(second.isAccepted());
                assertEquals(0, ends.violations());
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
            StreamEnds ends = ends(fixture, transports);
            VbnEngine reader = ends.in.engine();
            VbnStreams out = ends.out;
            try (VbnStream first = ends.openAtOnce()) {
                turnUntil(reader, first::isAccepted);
            }
            long asked = frames(out);
            long answered = frames(ends.in);
            try (VbnStream question = ends.openAtOnce()) {
                question.write(ByteBuffer.allocate(200));
                turnUntil(reader, () -> ends.received() == 200);
                VbnStream answer = ends.accepted();
                assertEquals(200, readSome(answer));
                answer.write(ByteBuffer.allocate(300));
                answer.close();
                turnUntil(reader, () -> readSome(question) == 300);
            }
            assertEquals(3, frames(out) - asked, "OPEN, DATA, FIN");
            assertEquals(2, frames(ends.in) - answered, "DATA, FIN");
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
            StreamEnds ends = ends(fixture, transports);
            VbnEngine reader = ends.in.engine();
            VbnStreams out = ends.out;
            try (VbnStream sent = ends.open()) {
                turnUntil(reader, sent::isAccepted);
                assertEquals(900_000, sent.write(ByteBuffer.allocate(900_000)));
                assertTrue(out.sending() > 0, "the reader has not pulled: nobody drives it");
                turnUntil(reader, () -> out.sending() == 0);
                sent.write(ByteBuffer.allocate(1000));
                AtomicBoolean flushed = new AtomicBoolean();
                out.flush(() -> flushed.set(true));
                turnUntil(reader, flushed::get);
                assertEquals(901_000, ends.received());
                ends.peer.close();
            }
        }
    }
}
