// SPDX-License-Identifier: Apache-2.0
package org.verbena.core.stream;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.Random;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.verbena.core.Fixture;
import org.verbena.core.VbnContext;
import org.verbena.core.VbnEngine;
import org.verbena.core.VbnException;
import org.verbena.core.VbnPeer;

/** Frames of a peer that does not keep to the protocol: it sends plain messages with the streams' id. */
class StreamFrameTest {
    private static final int SERVICE = 3;
    private static final StreamLimits LIMITS = new StreamLimits(4096, 4096, 4, 1 << 20);

    private final Fixture fixture = new Fixture();
    private final CompletableFuture<VbnStream> there = new CompletableFuture<>();
    private VbnEngine hostile;
    private VbnStreams streams;
    private VbnPeer victim;

    @BeforeEach
    void start() throws Exception {
        VbnContext context = fixture.context("self,shm");
        VbnEngine engine = context.startEngine("victim");
        hostile = context.startEngine("hostile");
        streams = new VbnStreams(engine, StreamServer.MESSAGE, LIMITS);
        streams.serve(SERVICE, (stream, hello) -> there.complete(stream) || true);
        victim = hostile.connect(engine.address(), null);
    }

    @AfterEach
    void stop() {
        streams.close();
        fixture.close();
    }

    private void send(ByteBuffer header, int bytes) {
        hostile.send(victim, StreamServer.MESSAGE, header, new ByteBuffer[] {ByteBuffer.allocateDirect(bytes)}, null);
    }

    private void send(int type, long value, int bytes) {
        send(new StreamFrame(type, StreamFrame.FLAG_OPENER, 1, value).encode(), bytes);
    }

    private VbnStream open() throws Exception {
        ByteBuffer data = ByteBuffer.allocateDirect(2).order(ByteOrder.LITTLE_ENDIAN).putShort((short) SERVICE).flip();
        hostile.send(victim, StreamServer.MESSAGE,
            new StreamFrame(StreamFrame.OPEN, StreamFrame.FLAG_OPENER, 1, 4096).encode(), new ByteBuffer[] {data}, null);
        return Fixture.get(there);
    }

    private void expectViolation(int type, long value, int bytes) throws Exception {
        VbnStream stream = open();
        send(type, value, bytes);
        Fixture.await("the stream fails", () -> stream.failure() != null);
        assertThrows(VbnException.class, () -> stream.write(ByteBuffer.allocate(1)));
        assertEquals(1, streams.counters().get("stream.violations"));
        stream.close();
    }

    @Test
    void data_beyond_the_window_fails_the_stream() throws Exception {
        expectViolation(StreamFrame.DATA, 0, LIMITS.window() + 1);
    }

    @Test
    void announced_data_beyond_the_window_is_not_pulled() throws Exception {
        expectViolation(StreamFrame.DATA, 0, 10 << 20);
        assertEquals(0, streams.counters().get("stream.received_bytes"));
    }

    @Test
    void data_at_another_place_fails_the_stream() throws Exception {
        expectViolation(StreamFrame.DATA, 1, 1);
    }

    @Test
    void data_of_no_bytes_fails_the_stream() throws Exception {
        expectViolation(StreamFrame.DATA, 0, 0);
    }

    @Test
    void credit_that_goes_back_fails_the_stream() throws Exception {
        expectViolation(StreamFrame.CREDIT, 4095, 0);
    }

    @Test
    void credit_that_goes_back_after_its_reader_has_closed_is_no_violation() throws Exception {
        VbnStream stream = open();
        send(new StreamFrame(StreamFrame.FIN, StreamFrame.FLAG_OPENER | StreamFrame.FLAG_NO_READ, 1, 0).encode(), 0);
        send(StreamFrame.CREDIT, 9000, 0);
        send(StreamFrame.CREDIT, 8000, 0);
        open();
        Fixture.await("the second is refused, so all before it has been handled",
            () -> streams.counters().get("stream.refused") == 1);
        assertEquals(0, streams.counters().get("stream.violations"));
        assertEquals(null, stream.failure());
        stream.close();
    }

    @Test
    void an_end_at_another_place_fails_the_stream() throws Exception {
        expectViolation(StreamFrame.FIN, 1, 0);
    }

    @Test
    void bytes_in_memory_that_was_not_lent_fail_the_stream() throws Exception {
        VbnStream stream = open();
        send(new StreamFrame(StreamFrame.LENT, StreamFrame.FLAG_OPENER, 1, 0).encode(0, 10), 0);
        Fixture.await("the stream fails", () -> stream.failure() != null);
        assertTrue(stream.failure().getMessage().contains("not lent"), stream.failure().getMessage());
        stream.close();
    }

    @Test
    void a_stream_is_opened_once() throws Exception {
        VbnStream stream = open();
        open();
        Fixture.await("the second is refused", () -> streams.counters().get("stream.refused") == 1);
        assertEquals(null, stream.failure());
    }

    @Test
    void what_decodes_encodes_to_the_same_bytes_and_all_else_is_refused() {
        Random random = new Random(20260101);
        int good = 0;
        for (int i = 0; i < 200_000; i++) {
            byte[] bytes = new byte[random.nextInt(20) == 0 ? random.nextInt(40) : StreamFrame.BYTES + 8 * random.nextInt(2)];
            random.nextBytes(bytes);
            if (bytes.length > 3 && random.nextBoolean()) {
                bytes[0] = (byte) random.nextInt(10);
                bytes[1] = (byte) random.nextInt(8);
                bytes[2] = 0;
                bytes[3] = 0;
            }
            try {
                StreamFrame frame = StreamFrame.decode(ByteBuffer.wrap(bytes));
                ByteBuffer tail = ByteBuffer.wrap(bytes).order(ByteOrder.LITTLE_ENDIAN);
                assertEquals(ByteBuffer.wrap(bytes), frame.type() == StreamFrame.LENT
                    ? frame.encode(tail.getInt(StreamFrame.BYTES), tail.getInt(StreamFrame.BYTES + 4)) : frame.encode());
                good++;
            } catch (VbnException e) {
                assertTrue(e.getMessage().contains("stream frame"), e.getMessage());
            }
        }
        assertTrue(good > 1000, "only " + good + " frames were well formed");
    }

    @Test
    void no_sequence_of_frames_stops_the_service() throws Exception {
        Random random = new Random(4);
        for (int i = 0; i < 20_000; i++) {
            byte[] header = new byte[StreamFrame.BYTES];
            random.nextBytes(header);
            ByteBuffer frame = ByteBuffer.wrap(header).order(ByteOrder.LITTLE_ENDIAN);
            if (random.nextInt(4) > 0) {
                StreamFrame made = new StreamFrame(1 + random.nextInt(8), random.nextInt(8), random.nextInt(6),
                    random.nextInt(3) * 2048L);
                frame = made.type() == StreamFrame.LENT ? made.encode(random.nextInt(), random.nextInt(9000)) : made.encode();
            }
            send(frame, random.nextInt(8) == 0 ? 50_000 : random.nextInt(2000));
        }
        long before = streams.counters().get("stream.refused");
        ByteBuffer strange = ByteBuffer.allocateDirect(2).putShort((short) -1).flip();
        hostile.send(victim, StreamServer.MESSAGE,
            new StreamFrame(StreamFrame.OPEN, StreamFrame.FLAG_OPENER, 77, 1).encode(), new ByteBuffer[] {strange}, null);
        Fixture.await("it still answers", () -> streams.counters().get("stream.refused") > before);
        assertTrue(fixture.log.stream().noneMatch(line -> line.contains("threw")), fixture.log.toString());
    }
}
