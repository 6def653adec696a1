// SPDX-License-Identifier: Apache-2.0
package org.verbena.core.stream;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.verbena.core.Fixture;

/** Streams whose bytes lie in memory that the writer lends the reader; the test reads at the other side. */
class StreamLendTest {
    private static final int SLOTS = LentMemory.BYTES / LentMemory.SLOT;

    private final Fixture fixture = new Fixture();
    private StreamEnds ends;

    @BeforeEach
    void start() throws Exception {
        begin("self,shm");
    }

    private void begin(String transports) throws Exception {
        ends = StreamEnds.of(fixture.context(transports).shareEngine("reader"), fixture.context(transports).shareEngine("writer"));
    }

    @AfterEach
    void stop() {
        ends.close();
        fixture.close();
    }

    /** A stream to the reader, and its end there. */
    private record Pair(BlockingStream writer, BlockingStream reader) implements AutoCloseable {
        @Override
        public void close() {
            writer.close();
            reader.close();
        }
    }

    private Pair open() throws Exception {
        BlockingStream writer = new BlockingStream(ends.open());
        writer.awaitAccepted(20_000);
        BlockingStream reader = new BlockingStream(ends.accepted());
        reader.readTimeout(20_000);
        writer.writeTimeout(20_000);
        return new Pair(writer, reader);
    }

    private long lent() {
        return ends.out.counters().get("stream.lent_bytes");
    }

    /** Writes until bytes go by lent memory: the first are pulled, while the reader maps it. */
    private void warm() throws Exception {
        ByteBuffer piece = ByteBuffer.allocate(LentMemory.SLOT);
        try (Pair pair = open()) {
            Fixture.await("the memory is mapped", () -> {
                try {
                    pair.writer.write(piece.clear());
                    for (int got = 0; got < LentMemory.SLOT;) {
                        got += pair.reader.read(ByteBuffer.allocate(LentMemory.SLOT - got));
                    }
                } catch (IOException e) {
                    throw new AssertionError(e);
                }
                return lent() > 0;
            });
        }
    }

    /** How many slots are free, by using them. */
    private int freeSlots() throws Exception {
        int free = 0;
        try (Pair one = open(); Pair two = open(); Pair three = open()) {
            for (Pair pair : List.of(one, two, three)) {
                for (long before = lent(); pair.writer.stream().write(ByteBuffer.allocate(LentMemory.SLOT)) > 0; before = lent()) {
                    free += lent() > before ? 1 : 0;
                }
            }
        }
        return free;
    }

    private void expectAllFree() throws Exception {
        Fixture.await("all slots are free again", () -> {
            try {
                return freeSlots() == SLOTS;
            } catch (Exception e) {
                throw new AssertionError(e);
            }
        });
    }

    @Test
    void bytes_come_in_order_through_lent_memory_and_past_it(@TempDir Path folder) throws Exception {
        warm();
        byte[] all = new byte[3_000_003];
        Fixture.pattern(all.length, 7).get(all);
        Path path = Files.write(folder.resolve("file"), all);
        long before = lent();
        try (FileChannel file = FileChannel.open(path); Pair pair = open()) {
            CompletableFuture<ByteBuffer> reading = CompletableFuture.supplyAsync(() -> {
                try {
                    return StreamTest.readAll(pair.reader, all.length);
                } catch (IOException e) {
                    throw new AssertionError(e);
                }
            });
            pair.writer.write(ByteBuffer.wrap(all, 0, 1_000_000));
            for (int at = 1_000_000; at < 2_000_000;) {
                at += pair.writer.stream().transferFrom(file, at, 2_000_000 - at);
            }
            for (int at = 2_000_000, size = 1; at < all.length; size = size * 3 % 70_001) {
                int length = Math.min(size, all.length - at);
                pair.writer.write(ByteBuffer.wrap(all, at, length)); // small ones, too
                at += length;
            }
            pair.writer.endOutput();
            assertEquals(ByteBuffer.wrap(all), Fixture.get(reading));
        }
        assertTrue(lent() - before > 1_000_000, ends.out.counters().toString());
        assertEquals(0, ends.in.counters().get("stream.violations"));
        expectAllFree();
    }

    /** Waits for bytes that the reader sees where they lie. */
    private static ByteBuffer seen(Pair pair) throws InterruptedException {
        Fixture.await("bytes have come", () -> {
            pair.reader.stream().engine().help();
            return pair.reader.stream().isReadable();
        });
        return pair.reader.stream().look();
    }

    @Test
    void bytes_can_be_read_where_they_lie_and_their_slot_is_free_when_they_are_skipped() throws Exception {
        warm();
        byte[] all = new byte[3 * LentMemory.SLOT];
        Fixture.pattern(all.length, 5).get(all);
        try (Pair pair = open()) {
            VbnStream stream = pair.reader.stream();
            pair.writer.write(ByteBuffer.wrap(all));
            assertEquals(ByteBuffer.wrap(all, 0, LentMemory.SLOT), seen(pair));
            assertTrue(stream.look().isReadOnly());
            stream.skip(1000);
            assertEquals(ByteBuffer.wrap(all, 1000, LentMemory.SLOT - 1000), stream.look());
            stream.skip(0);
            ByteBuffer copied = ByteBuffer.allocate(LentMemory.SLOT);
            while (copied.hasRemaining()) { // the rest of the first slot, and the beginning of the second
                assertTrue(pair.reader.read(copied) > 0);
            }
            assertEquals(ByteBuffer.wrap(all, 1000, LentMemory.SLOT), copied.flip());
            ByteBuffer rest = seen(pair);
            stream.close();
            assertEquals(ByteBuffer.wrap(all, 1000 + LentMemory.SLOT, LentMemory.SLOT - 1000), rest);
            stream.skip(rest.limit());
            assertNull(stream.look());
        }
        expectAllFree();
        assertEquals(0, ends.violations());
    }

    /** Waits for bytes behind those that the reader has seen. */
    private static ByteBuffer seenBehind(Pair pair, int ahead) throws InterruptedException {
        VbnStream stream = pair.reader.stream();
        Fixture.await("bytes have come behind " + ahead + " others", () -> {
            stream.engine().help();
            return stream.look(ahead) != null;
        });
        return stream.look(ahead);
    }

    @Test
    void bytes_of_several_slots_can_be_seen_at_once() throws Exception {
        warm();
        byte[] all = new byte[3 * LentMemory.SLOT];
        Fixture.pattern(all.length, 6).get(all);
        try (Pair pair = open()) {
            VbnStream stream = pair.reader.stream();
            pair.writer.write(ByteBuffer.wrap(all));
            ByteBuffer first = seen(pair);
            ByteBuffer second = seenBehind(pair, first.limit());
            assertEquals(ByteBuffer.wrap(all, LentMemory.SLOT, LentMemory.SLOT), second);
            assertEquals(ByteBuffer.wrap(all, LentMemory.SLOT + 10, LentMemory.SLOT - 10), stream.look(LentMemory.SLOT + 10));
            stream.skip(LentMemory.SLOT + 10); // nobody has hold of the rest
            ByteBuffer rest = stream.look();
            assertEquals(ByteBuffer.wrap(all, LentMemory.SLOT + 10, LentMemory.SLOT - 10), rest);
            ByteBuffer third = seenBehind(pair, rest.limit());
            assertNull(stream.look(rest.limit() + third.limit()));
            stream.close();
            assertNull(stream.look());
            assertEquals(ByteBuffer.wrap(all, 2 * LentMemory.SLOT, LentMemory.SLOT), third);
            assertTrue(freeSlots() < SLOTS, "who has hold of bytes keeps their slots when the stream is closed");
            stream.skip(rest.limit());
        }
        expectAllFree();
        assertEquals(0, ends.violations());
    }

    @Test
    void a_reader_that_closes_in_the_middle_gives_all_slots_back() throws Exception {
        warm();
        for (int i = 0; i < 20; i++) {
            Pair pair = open();
            pair.writer.stream().write(ByteBuffer.allocate(500_000));
            assertTrue(pair.reader.read(ByteBuffer.allocate(100_000)) > 0);
            if (i % 2 == 0) {
                pair.reader.close();
                pair.writer.close();
            } else if (i % 3 == 0) {
                pair.writer.close();
                pair.reader.close();
            } else {
                pair.writer.stream().reset();
                pair.reader.close();
            }
        }
        expectAllFree();
        assertEquals(0, ends.violations());
    }

    @Test
    void what_a_writer_has_written_before_it_closed_is_read() throws Exception {
        warm();
        byte[] all = new byte[700_000];
        Fixture.pattern(all.length, 9).get(all);
        Pair pair = open();
        pair.writer.write(ByteBuffer.wrap(all));
        pair.writer.close();
        try (Pair other = open()) { // does not get the slots that the reader has yet to read
            other.writer.write(ByteBuffer.allocate(900_000));
            assertEquals(ByteBuffer.wrap(all), StreamTest.readAll(pair.reader, all.length));
            pair.reader.close();
        }
        expectAllFree();
    }

    @Test
    void without_shared_memory_nothing_is_lent() throws Exception {
        stop();
        begin("tcp");
        try (Pair pair = open()) {
            for (int i = 0; i < 20; i++) {
                pair.writer.write(ByteBuffer.allocate(LentMemory.SLOT));
                for (int got = 0; got < LentMemory.SLOT;) {
                    got += pair.reader.read(ByteBuffer.allocate(LentMemory.SLOT - got));
                }
            }
        }
        assertEquals(0, lent());
    }
}
