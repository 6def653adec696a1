// SPDX-License-Identifier: Apache-2.0
package org.verbena.core.stream;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.function.BooleanSupplier;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.verbena.core.Fixture;
import org.verbena.core.VbnContext;
import org.verbena.core.VbnEngine;
import org.verbena.core.VbnException;
import org.verbena.core.plugin.BufferBudget;

/** Many streams that stand still, whose windows together are far larger than the memory for them: bytes are counted, no time. */
class StreamMemoryTest {
    private static final int MANY = 60;
    private static final long MIB = 1 << 20;
    private static final long BOUND = 32 * MIB;
    private static final StreamLimits LIMITS = new StreamLimits(1 << 20, 80 << 10, 4096, 0);
    private static final int LONG = 4 << 20;
    /** In place of a length: small and large pieces by turns. */
    private static final int PACKETS = 0;
    private static final int HEADER = 600;
    private static final int DATA = 64 << 10;

    private final Fixture fixture = new Fixture();
    private BufferBudget writing = budget();
    private final BufferBudget reading = budget();
    private VbnEngine reader;
    private boolean attached;
    private StreamLimits readers = LIMITS;
    private StreamLimits writers = LIMITS;
    private StreamEnds ends;

    private static BufferBudget budget() {
        return new BufferBudget(BOUND, BOUND / 4, BOUND / 4);
    }

    /** drives: this thread drives the reader's engine, when it likes. */
    private void begin(String transports, boolean drives) throws Exception {
        attached = drives;
        VbnContext there = fixture.context(transports);
        reader = attached ? there.attachEngine("reader") : there.shareEngine("reader");
        VbnEngine writer = fixture.context(transports).shareEngine("writer");
        ends = new StreamEnds(new VbnStreams(reader, StreamServer.MESSAGE, readers, reading),
            new VbnStreams(writer, StreamServer.MESSAGE, writers, writing));
    }

    @AfterEach
    void stop() {
        ends.close();
        fixture.close();
    }

    /** A stream that nobody reads, with what was written. */
    private static final class Pair {
        private final VbnStream writer;
        private final VbnStream reader;
        private int written;

        Pair(VbnStream writer, VbnStream reader) {
            this.writer = writer;
            this.reader = reader;
        }

        /** Bytes of the pattern, from where it is, in pieces of so many bytes; false: none is taken now. */
        boolean write(ByteBuffer pattern, int piece) throws VbnException {
            int next = piece == PACKETS ? written % (HEADER + DATA) < HEADER ? HEADER : DATA : piece;
            int most = Math.min(written + next, pattern.capacity());
            int count = most == written ? 0 : writer.write(pattern.duplicate().limit(most).position(written));
            written += count;
            return count > 0;
        }

        void close() {
            writer.close();
            reader.close();
        }
    }

    private Pair open() throws Exception {
        VbnStream writer = ends.open();
        turnUntil(writer::isAccepted);
        return new Pair(writer, ends.accepted());
    }

    /** Drives the reader's engine, if that is this thread's to do. */
    private void turnUntil(BooleanSupplier condition) throws Exception {
        Fixture.await("what a turn brings", () -> {
            try {
                if (attached) {
                    reader.turn(0);
                }
            } catch (VbnException e) {
                throw new UncheckedIOException(e);
            }
            return condition.getAsBoolean();
        });
    }

    private void assertBounded() {
        assertTrue(writing.used() <= writing.bound(), "the writer holds " + writing.used());
        assertTrue(reading.used() <= reading.bound(), "the reader holds " + reading.used());
    }

    /** Streams of which each has taken what it takes and stands still. */
    private List<Pair> stalled(ByteBuffer pattern, int piece) throws Exception {
        List<Pair> all = new ArrayList<>();
        for (int i = 0; i < MANY; i++) {
            Pair pair = open();
            all.add(pair);
            while (pair.write(pattern, piece)) {
                assertBounded();
            }
        }
        for (boolean more = true; more;) { // what was in flight then has made place
            more = false;
            for (Pair pair : all) {
                more |= pair.write(pattern, piece);
                assertBounded();
            }
        }
        return all;
    }

    private void expectAllGoOn(List<Pair> all, ByteBuffer pattern, int piece) throws Exception {
        for (Pair pair : all) {
            ByteBuffer got = ByteBuffer.allocate(pattern.capacity());
            Fixture.await("all bytes of a stream that stood still", () -> {
                try {
                    while (pair.write(pattern, piece) || pair.reader.read(got) > 0) {
                        assertBounded();
                    }
                } catch (VbnException e) {
                    throw new UncheckedIOException(e);
                }
                return !got.hasRemaining();
            });
            assertEquals(pattern, got.flip());
        }
        all.forEach(Pair::close);
        Fixture.await("all memory is back", () -> writing.used() + reading.used() == 0);
        assertEquals(0, ends.violations());
    }

    private void expectAnotherGoesOn() throws Exception {
        Pair pair = open();
        ByteBuffer pattern = Fixture.pattern(LONG, 3);
        CompletableFuture<ByteBuffer> got = CompletableFuture.supplyAsync(() -> {
            try {
                return StreamTest.readAll(new BlockingStream(pair.reader), LONG);
            } catch (IOException e) {
                throw new UncheckedIOException(e);
            }
        });
        BlockingStream writer = new BlockingStream(pair.writer);
        writer.write(pattern.duplicate());
        writer.endOutput();
        assertEquals(pattern, Fixture.get(got));
        pair.close();
    }

    @Test
    void readers_that_stand_still_have_a_bound_and_others_go_on() throws Exception {
        begin("tcp", false);
        ByteBuffer pattern = Fixture.pattern(2 << 20, 1);
        List<Pair> all = stalled(pattern, 256 << 10);
        expectAnotherGoesOn();
        assertBounded();
        expectAllGoOn(all, pattern, 256 << 10);
    }

    /** As a DataNode with much memory sends a block: a header, its data, the next header, ... */
    @Test
    void small_messages_between_large_ones_have_the_same_bound() throws Exception {
        writing = new BufferBudget(Long.MAX_VALUE, 0, 0);
        begin("tcp", false);
        ByteBuffer pattern = Fixture.pattern(2 << 20, 7);
        List<Pair> all = stalled(pattern, PACKETS);
        expectAnotherGoesOn();
        expectAllGoOn(all, pattern, PACKETS);
    }

    /** Of a peer that may send larger messages than we do: each stream takes one in any case, which is beyond the bound. */
    @Test
    void streams_with_larger_messages_go_on_as_well() throws Exception {
        writers = StreamLimits.DEFAULT;
        begin("tcp", false);
        for (int i = 0; i < MANY; i++) {
            assertTrue(open().writer.write(ByteBuffer.allocate(writers.piece())) > 2 * LIMITS.piece());
        }
        expectAnotherGoesOn();
    }

    @Test
    void small_messages_that_nobody_reads_have_the_same_bound() throws Exception {
        begin("tcp", false);
        ByteBuffer pattern = Fixture.pattern(256 << 10, 2);
        List<Pair> all = stalled(pattern, 1000);
        expectAnotherGoesOn();
        assertBounded();
        expectAllGoOn(all, pattern, 1000);
    }

    @Test
    void a_process_that_stands_still_holds_no_more_of_its_writers_memory_than_others_leave() throws Exception {
        begin("tcp", true);
        ByteBuffer pattern = Fixture.pattern(2 << 20, 4);
        List<Pair> all = new ArrayList<>();
        for (int i = 0; i < MANY; i++) {
            all.add(open());
        }
        for (Pair pair : all) { // from here on nobody drives the reader's engine
            while (pair.write(pattern, 256 << 10)) {
                assertBounded();
            }
            assertTrue(pair.written > 0);
        }
        all.forEach(Pair::close);
        turnUntil(() -> writing.used() + reading.used() == 0);
    }

    @Test
    void readers_that_close_give_back_what_waits_at_the_writer() throws Exception {
        begin("tcp", false);
        List<Pair> all = stalled(Fixture.pattern(2 << 20, 5), 256 << 10);
        assertTrue(writing.used() > 0, "some waits at the writer");
        all.forEach(pair -> pair.reader.close());
        Fixture.await("all memory is back", () -> writing.used() + reading.used() == 0);
        all.forEach(Pair::close);
    }

    @Test
    void streams_that_are_refused_or_closed_take_nothing() throws Exception {
        readers = new StreamLimits(LIMITS.window(), LIMITS.piece(), 1, 0); // one stream
        begin("tcp", false);
        Pair pair = open();
        long one = reading.reserved() + writing.reserved();
        for (int i = 0; i < MANY; i++) {
            try (VbnStream second = ends.out.open(ends.peer, StreamEnds.SERVICE, new byte[0])) {
                Fixture.await("a refusal", second::isRefused);
            }
        }
        assertEquals(one, reading.reserved() + writing.reserved());
        pair.close();
        Fixture.await("nothing is reserved", () -> reading.reserved() + writing.reserved() == 0);
    }

    @Test
    void lent_memory_counts() throws Exception {
        begin("self,shm", false);
        ByteBuffer pattern = Fixture.pattern(2 << 20, 6);
        List<Pair> all = stalled(pattern, 256 << 10);
        assertTrue(writing.used() >= LentMemory.BYTES);
        expectAnotherGoesOn();
        all.forEach(Pair::close);
        Fixture.await("all memory but what is lent is back", () -> writing.used() + reading.used() == LentMemory.BYTES);
    }
}
