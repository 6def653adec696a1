// SPDX-License-Identifier: Apache-2.0
package org.verbena.core.stream;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.lang.reflect.Field;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.verbena.core.Fixture;
import org.verbena.core.VbnContext;
import org.verbena.core.VbnEngine;
import org.verbena.core.VbnException;
import org.verbena.core.VbnPeer;
import org.verbena.core.VbnStatus;

/** Two engines of one JVM; a window of 64 KiB, so that it is full soon. */
class StreamTest {
    private static final StreamLimits SMALL = new StreamLimits(64 << 10, 16 << 10, 8, 1 << 20);

    private final Fixture fixture = new Fixture();
    private StreamServer server;
    private VbnStreams streams;
    private VbnPeer peer;

    VbnEngine engine(VbnContext context, String name) throws VbnException {
        return context.startEngine(name);
    }

    @BeforeEach
    void start() throws Exception {
        VbnContext context = fixture.context("self,shm");
        VbnEngine remote = engine(context, "remote");
        VbnEngine local = engine(context, "local");
        server = new StreamServer(remote, SMALL);
        streams = new VbnStreams(local, StreamServer.MESSAGE, SMALL);
        peer = local.connect(remote.address(), null);
    }

    @AfterEach
    void stop() {
        streams.close();
        server.close();
        fixture.close();
    }

    private BlockingStream open(int service, byte... hello) throws Exception {
        BlockingStream stream = new BlockingStream(streams.open(peer, service, hello));
        stream.readTimeout(60_000);
        stream.writeTimeout(60_000);
        return stream;
    }

    private static void awaitAllClosed(VbnStreams streams) throws Exception {
        Fixture.await("no stream stays", () -> streams.counters().get("stream.open") == 0);
    }

    @Test
    void nothing_can_be_written_before_the_other_side_has_accepted() throws Exception {
        CompletableFuture<Boolean> tried = new CompletableFuture<>();
        server.streams.serve(9, (stream, hello) -> tried.completeOnTimeout(false, 60, TimeUnit.SECONDS).join());
        try (VbnStream stream = streams.open(peer, 9, new byte[0])) {
            assertEquals(0, stream.write(ByteBuffer.allocate(1)));
            assertFalse(stream.isAccepted());
            tried.complete(true);
            new BlockingStream(stream).awaitAccepted(60_000);
            assertEquals(1, stream.write(ByteBuffer.allocate(1)));
        }
    }

    @Test
    void the_readers_window_bounds_what_is_written() throws Exception {
        try (BlockingStream stream = open(StreamServer.DEAF)) {
            stream.awaitAccepted(60_000);
            ByteBuffer much = ByteBuffer.allocate(1 << 20);
            assertEquals(SMALL.window(), stream.stream().write(much));
            assertEquals(0, stream.stream().write(much));
            assertFalse(stream.stream().isWritable());
            stream.writeTimeout(20);
            String text = assertThrows(java.net.SocketTimeoutException.class, () -> stream.write(much)).getMessage();
            assertTrue(text.contains("20 ms") && text.contains("window"), text);
        }
    }

    @Test
    void the_window_opens_again_as_the_reader_reads() throws Exception {
        try (BlockingStream stream = open(StreamServer.ECHO)) {
            byte[] all = new byte[1_000_003];
            Fixture.pattern(all.length, 5).get(all);
            CompletableFuture<Void> writing = CompletableFuture.runAsync(() -> write(stream, all));
            assertEquals(ByteBuffer.wrap(all), readAll(stream, all.length));
            Fixture.get(writing);
        }
        awaitAllClosed(streams);
        awaitAllClosed(server.streams);
    }

    static void write(BlockingStream stream, byte[] bytes) {
        try {
            stream.write(ByteBuffer.wrap(bytes));
            stream.endOutput();
        } catch (IOException e) {
            throw new AssertionError(e);
        }
    }

    /** Reads to the end and expects so many bytes. */
    static ByteBuffer readAll(BlockingStream stream, int length) throws IOException {
        ByteBuffer got = ByteBuffer.allocate(length + 1);
        while (stream.read(got) >= 0) {
            assertTrue(got.hasRemaining(), "more than " + length + " bytes");
        }
        assertEquals(length, got.position());
        return got.flip();
    }

    @Test
    void many_buffers_leave_in_few_messages() throws Exception {
        ByteBuffer[] all = new ByteBuffer[1000];
        ByteBuffer wanted = ByteBuffer.allocate(100_000);
        for (int i = 0; i < all.length; i++) {
            all[i] = Fixture.pattern(i % 7 == 0 ? 0 : i % 100, i);
            wanted.put(all[i].duplicate());
        }
        int size = wanted.flip().remaining();
        try (BlockingStream stream = open(StreamServer.ECHO)) {
            stream.awaitAccepted(60_000);
            assertEquals(size, stream.stream().write(all, all.length));
            stream.endOutput();
            assertEquals(wanted, readAll(stream, size));
        }
        assertEquals((size + SMALL.piece() - 1) / SMALL.piece(), streams.counters().get("stream.sent_messages"));
    }

    @Test
    void bytes_of_a_file_are_sent_from_their_place(@TempDir Path folder) throws Exception {
        byte[] all = new byte[150_000];
        Fixture.pattern(all.length, 3).get(all);
        Path path = Files.write(folder.resolve("file"), all);
        try (FileChannel file = FileChannel.open(path); BlockingStream stream = open(StreamServer.ECHO)) {
            stream.awaitAccepted(60_000);
            CompletableFuture<ByteBuffer> reading = CompletableFuture.supplyAsync(() -> {
                try {
                    return readAll(stream, 140_000);
                } catch (IOException e) {
                    throw new AssertionError(e);
                }
            });
            for (int at = 10_000; at < all.length;) {
                at += stream.stream().transferFrom(file, at, all.length - at); // 0 while the window is full
            }
            assertThrows(java.io.EOFException.class, () -> untilSent(stream.stream(), file, all.length));
            stream.endOutput();
            assertEquals(ByteBuffer.wrap(all, 10_000, 140_000), Fixture.get(reading));
        }
    }

    private static void untilSent(VbnStream stream, FileChannel file, long position) throws IOException {
        while (stream.transferFrom(file, position, 1) == 0) {
            Thread.onSpinWait();
        }
    }

    @Test
    void many_small_writes_take_no_buffer_each() throws Exception {
        byte[] hello = {1, 2, 3};
        try (BlockingStream stream = open(StreamServer.TALKER, hello)) {
            ByteBuffer got = readAll(stream, 3 * StreamServer.TALKS);
            for (int i = 0; i < got.limit(); i++) {
                assertEquals(i % 3 + 1, got.get(i));
            }
        }
    }

    @Test
    void one_direction_may_end_before_the_other() throws Exception {
        try (BlockingStream stream = open(StreamServer.TALKER, (byte) 9)) {
            readAll(stream, StreamServer.TALKS);
            assertEquals(-1, stream.read(ByteBuffer.allocate(1)), "the end stays the end");
            stream.write(ByteBuffer.allocate(200_000)); // more than the window: it is read there
        }
        awaitAllClosed(server.streams);
    }

    @Test
    void a_service_that_does_not_exist_is_a_refusal() throws Exception {
        try (BlockingStream stream = open(4711)) {
            String text = assertThrows(IOException.class, () -> stream.awaitAccepted(60_000)).getMessage();
            assertTrue(text.contains("no such service"), text);
        }
    }

    @Test
    void a_peer_opens_a_bounded_number_of_streams() throws Exception {
        List<BlockingStream> all = new ArrayList<>();
        for (int i = 0; i < SMALL.streamsPerPeer(); i++) {
            all.add(open(StreamServer.DEAF));
        }
        for (BlockingStream stream : all) {
            stream.awaitAccepted(60_000);
        }
        try (BlockingStream oneTooMany = open(StreamServer.DEAF)) {
            assertThrows(IOException.class, () -> oneTooMany.awaitAccepted(60_000));
        }
        for (BlockingStream stream : all) {
            stream.close();
        }
        assertEquals(1, server.streams.counters().get("stream.refused"));
    }

    @Test
    void a_reader_that_closed_makes_the_writer_fail() throws Exception {
        CompletableFuture<VbnStream> there = new CompletableFuture<>();
        server.streams.serve(9, (stream, hello) -> there.complete(stream));
        try (BlockingStream stream = open(9)) {
            stream.awaitAccepted(60_000);
            Fixture.get(there).close();
            assertEquals(-1, stream.read(ByteBuffer.allocate(1)));
            String text = assertThrows(IOException.class, () -> stream.write(ByteBuffer.allocate(1))).getMessage();
            assertTrue(text.contains("other side has closed"), text);
        }
    }

    /** Some thread handles the end of a stream's reader, and waits for a lock there. */
    private static boolean isHeldUp() {
        return Thread.getAllStackTraces().values().stream().anyMatch(frames -> frames.length > 0
            && frames[0].getClassName().equals(StreamOutput.class.getName()) && frames[0].getMethodName().equals("readerGone"));
    }

    @Test
    void the_end_of_a_stream_is_not_read_before_it_is_known_that_the_other_side_reads_no_more() throws Exception {
        CompletableFuture<VbnStream> there = new CompletableFuture<>();
        server.streams.serve(9, (stream, hello) -> there.complete(stream));
        try (BlockingStream stream = open(9)) {
            stream.awaitAccepted(60_000);
            Field output = VbnStream.class.getDeclaredField("output");
            output.setAccessible(true);
            synchronized (output.get(stream.stream())) { // the engine's thread gets this far, and no further
                Fixture.get(there).close();
                Fixture.await("the engine handles the end", StreamTest::isHeldUp);
                assertEquals(0, stream.stream().read(ByteBuffer.allocate(1)));
            }
            assertEquals(-1, stream.read(ByteBuffer.allocate(1)));
            assertThrows(VbnException.class, () -> stream.write(ByteBuffer.allocate(1)));
        }
    }

    @Test
    void a_reset_fails_both_sides_after_what_had_arrived() throws Exception {
        CompletableFuture<VbnStream> there = new CompletableFuture<>();
        server.streams.serve(9, (stream, hello) -> there.complete(stream));
        try (BlockingStream stream = open(9)) {
            stream.awaitAccepted(60_000);
            Fixture.get(there).write(ByteBuffer.allocate(5));
            Fixture.get(there).reset();
            assertEquals(5, stream.read(ByteBuffer.allocate(5)));
            VbnException cause = assertThrows(VbnException.class, () -> stream.read(ByteBuffer.allocate(5)));
            assertEquals(VbnStatus.PEER_LOST, cause.kind());
            assertThrows(VbnException.class, () -> stream.write(ByteBuffer.allocate(5)));
        }
    }

    @Test
    void a_time_out_leaves_the_stream_as_it_was() throws Exception {
        try (BlockingStream stream = open(StreamServer.ECHO)) {
            stream.readTimeout(20);
            assertThrows(java.net.SocketTimeoutException.class, () -> stream.read(ByteBuffer.allocate(1)));
            stream.readTimeout(60_000);
            stream.write(ByteBuffer.wrap(new byte[] {42}));
            ByteBuffer got = ByteBuffer.allocate(1);
            stream.read(got);
            assertEquals(42, got.get(0));
        }
    }

    @Test
    void an_interrupt_closes_it_and_so_does_close() throws Exception {
        for (boolean interrupt : new boolean[] {true, false}) {
            BlockingStream stream = open(StreamServer.ECHO);
            CompletableFuture<IOException> ended = new CompletableFuture<>();
            Thread reader = new Thread(() -> {
                try {
                    stream.read(ByteBuffer.allocate(1));
                } catch (IOException e) {
                    ended.complete(e);
                }
            });
            reader.start();
            if (interrupt) {
                reader.interrupt();
            } else {
                stream.close();
            }
            assertNotNull(Fixture.get(ended));
            assertFalse(stream.isOpen());
        }
        awaitAllClosed(streams);
    }

    @Test
    void streams_that_end_take_what_was_written_with_them_to_the_other_side() throws Exception {
        CompletableFuture<VbnStream> there = new CompletableFuture<>();
        server.streams.serve(9, (stream, hello) -> there.complete(stream));
        try (BlockingStream stream = open(9)) {
            stream.write(ByteBuffer.allocate(60_000));
        }
        BlockingStream other = new BlockingStream(Fixture.get(there));
        readAll(other, 60_000);
        other.close();
    }

    @Test
    void a_close_waits_with_the_end_for_what_another_thread_writes() throws Exception {
        for (int i = 0; i < 200; i++) {
            BlockingStream stream = open(StreamServer.ECHO);
            stream.awaitAccepted(60_000);
            CompletableFuture<Void> writing = CompletableFuture.runAsync(() -> writeUntilClosed(stream.stream()));
            while (stream.stream().sent() <= i % 10 && !writing.isDone()) {
                Thread.onSpinWait();
            }
            stream.close();
            Fixture.get(writing);
            awaitAllClosed(server.streams);
        }
        assertEquals(0, server.streams.counters().get("stream.violations"));
    }

    private static void writeUntilClosed(VbnStream stream) {
        try {
            while (stream.failure() == null) {
                stream.write(ByteBuffer.allocate(1));
            }
        } catch (VbnException e) {
            assertEquals(VbnStatus.CLOSED, e.kind(), e.toString());
        }
    }

    @Test
    void the_end_of_the_process_streams_fails_all() throws Exception {
        try (BlockingStream stream = open(StreamServer.ECHO)) {
            streams.close();
            assertThrows(VbnException.class, () -> stream.read(ByteBuffer.allocate(1)));
        }
        try (BlockingStream late = open(StreamServer.ECHO)) {
            assertThrows(VbnException.class, () -> late.awaitAccepted(60_000));
        }
    }
}
