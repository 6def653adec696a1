// SPDX-License-Identifier: Apache-2.0
package org.verbena.hadoop.net;

import static java.nio.charset.StandardCharsets.US_ASCII;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertDoesNotThrow;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.DataInputStream;
import java.io.EOFException;
import java.io.IOException;
import java.io.InterruptedIOException;
import java.io.OutputStream;
import java.net.InetSocketAddress;
import java.net.SocketTimeoutException;
import java.nio.ByteBuffer;
import java.nio.channels.ClosedChannelException;
import java.nio.channels.FileChannel;
import java.nio.channels.IllegalBlockingModeException;
import java.nio.channels.SelectionKey;
import java.nio.channels.Selector;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import org.apache.hadoop.hdfs.protocol.datatransfer.DataTransferProtocol;
import org.apache.hadoop.hdfs.protocol.datatransfer.Op;
import org.apache.hadoop.io.LongWritable;
import org.apache.hadoop.net.SocketInputStream;
import org.apache.hadoop.net.SocketOutputStream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.verbena.core.VbnConfig;
import org.verbena.core.VbnContext;
import org.verbena.core.VbnEngine;
import org.verbena.core.stream.StreamLimits;
import org.verbena.core.stream.VbnStream;
import org.verbena.core.stream.VbnStreams;

/** Hadoop's own socket streams on both ends of a stream of the core. */
class CoreChannelTest {
    private static final InetSocketAddress HERE = new InetSocketAddress("127.0.0.1", 1);
    private static final InetSocketAddress THERE = new InetSocketAddress("127.0.0.1", 2);

    private final List<VbnEngine> engines = new ArrayList<>();
    private VbnContext context;
    private VbnStreams client;
    private VbnStreams server;
    private CoreSocketChannel ours;
    private CorePeer peer;

    @BeforeEach
    void start() throws Exception {
        context = VbnContext.open(new VbnConfig().set("tl.enable", "self,shm").jobKey(new byte[32]));
        VbnEngine remote = context.startEngine("remote");
        VbnEngine local = context.startEngine("local");
        engines.addAll(List.of(remote, local));
        server = new VbnStreams(remote, 1, StreamLimits.DEFAULT);
        client = new VbnStreams(local, 1, StreamLimits.DEFAULT);
        CompletableFuture<VbnStream> accepted = new CompletableFuture<>();
        server.serve(1, (stream, hello) -> accepted.complete(stream));
        ours = new CoreSocketChannel(client.open(local.connect(remote.address(), null), 1, new byte[0]), HERE, THERE, () -> { });
        peer = new CorePeer(new CoreSocketChannel(accepted.get(60, TimeUnit.SECONDS), THERE, HERE, () -> { }));
        ours.configureBlocking(false);
    }

    @AfterEach
    void stop() throws Exception {
        ours.close();
        peer.close();
        client.close();
        server.close();
        engines.forEach(VbnEngine::close);
        context.close();
    }

    private static CompletableFuture<Void> inBackground(IoWork work) {
        return CompletableFuture.runAsync(() -> {
            try {
                work.run();
            } catch (IOException e) {
                throw new AssertionError(e);
            }
        }, task -> new Thread(task, "background").start());
    }

    /** Work that may throw. */
    @FunctionalInterface
    private interface IoWork {
        void run() throws IOException;
    }

    /** Hadoop's streams refuse to read nothing, which InputStream.readNBytes does at the end. */
    private static byte[] readFully(SocketInputStream in, int length) throws IOException {
        byte[] bytes = new byte[length];
        new DataInputStream(in).readFully(bytes);
        return bytes;
    }

    @Test
    void bytes_written_by_hadoops_stream_are_read_by_hadoops_stream() throws Exception {
        byte[] all = new byte[5_000_000];
        new Random(1).nextBytes(all);
        CompletableFuture<Void> writing = inBackground(() -> peer.getOutputStream().write(all));
        try (SocketInputStream in = new SocketInputStream(ours, 60_000)) {
            assertArrayEquals(all, readFully(in, all.length));
            writing.get(60, TimeUnit.SECONDS);
        }
    }

    @Test
    void a_file_is_sent_in_place_of_sendfile(@TempDir Path folder) throws Exception {
        byte[] all = new byte[3_000_000];
        new Random(2).nextBytes(all);
        LongWritable waited = new LongWritable(-1);
        try (FileChannel file = FileChannel.open(Files.write(folder.resolve("block"), all))) {
            CompletableFuture<Void> sending = inBackground(() ->
                ((CoreOutputStream) peer.getOutputStream()).transferToFully(file, 100, all.length - 100, waited, null));
            byte[] got = readFully(new SocketInputStream(ours, 60_000), all.length - 100);
            sending.get(60, TimeUnit.SECONDS);
            assertEquals(ByteBuffer.wrap(all, 100, all.length - 100), ByteBuffer.wrap(got));
            assertTrue(waited.get() >= 0);
            assertThrows(EOFException.class,
                () -> ((CoreOutputStream) peer.getOutputStream()).transferToFully(file, all.length, 1));
        }
    }

    /** The DataNode's end has read the beginning of a request. */
    private void request(Op op) throws IOException {
        byte[] bytes = {0, DataTransferProtocol.DATA_TRANSFER_VERSION, op.code, 1};
        new SocketOutputStream(ours, 0).write(bytes);
        assertArrayEquals(bytes, readFully((SocketInputStream) peer.getInputStreamChannel(), bytes.length));
    }

    private long sentByPeer() {
        return server.counters().get("stream.sent_messages");
    }

    @Test
    void small_pieces_of_an_answer_to_a_read_are_coalesced(@TempDir Path folder) throws Exception {
        request(Op.READ_BLOCK);
        OutputStream out = peer.getOutputStream();
        out.write("status,".getBytes(US_ASCII));
        out.write("header,".getBytes(US_ASCII));
        assertEquals(0, sentByPeer());
        try (FileChannel file = FileChannel.open(Files.write(folder.resolve("block"), "data,".getBytes(US_ASCII)))) {
            ((CoreOutputStream) out).transferToFully(file, 0, 5);
        }
        assertEquals(2, sentByPeer());
        out.write("end,".getBytes(US_ASCII));
        out.write(new byte[5000]); // too large to be kept
        out.write("status".getBytes(US_ASCII));
        new SocketOutputStream(ours, 0).write(7);
        assertEquals(7, peer.getInputStream().read()); // before it waits for this it sends
        SocketInputStream in = new SocketInputStream(ours, 60_000);
        assertEquals("status,header,data,end,", new String(readFully(in, 23), US_ASCII));
        assertArrayEquals(new byte[5000], readFully(in, 5000));
        assertEquals("status", new String(readFully(in, 6), US_ASCII));
        out.write(1);
        assertEquals(1, in.read()); // what was read last is no request: nothing is kept
    }

    @Test
    void an_answer_that_is_kept_leaves_when_the_stream_is_closed() throws Exception {
        request(Op.READ_BLOCK);
        peer.getOutputStream().write(1);
        assertEquals(0, sentByPeer());
        peer.close();
        SocketInputStream in = new SocketInputStream(ours, 60_000);
        assertEquals(1, in.read());
        assertEquals(-1, in.read());
    }

    @Test
    void answers_to_writes_and_what_other_threads_write_leave_at_once() throws Exception {
        request(Op.WRITE_BLOCK);
        SocketInputStream in = new SocketInputStream(ours, 60_000);
        peer.getOutputStream().write(1);
        assertEquals(1, in.read());
        request(Op.READ_BLOCK);
        inBackground(() -> peer.getOutputStream().write(2)).get(60, TimeUnit.SECONDS);
        assertEquals(2, in.read());
    }

    @Test
    void nothing_is_kept_that_would_have_to_wait_for_space() throws Exception {
        request(Op.READ_BLOCK);
        byte[] window = new byte[1 << 20];
        peer.getOutputStream().write(window);
        peer.setWriteTimeout(30);
        assertThrows(SocketTimeoutException.class, () -> peer.getOutputStream().write(1));
        SocketInputStream in = new SocketInputStream(ours, 60_000);
        assertArrayEquals(window, readFully(in, window.length));
    }

    @Test
    void hadoops_time_outs_work() throws Exception {
        SocketInputStream in = new SocketInputStream(ours, 30);
        String text = assertThrows(SocketTimeoutException.class, in::read).getMessage();
        assertTrue(text.contains("30 millis") && text.contains("stream of the core"), text);
        peer.setWriteTimeout(30);
        assertThrows(SocketTimeoutException.class, () -> peer.getOutputStream().write(new byte[4 << 20]));
    }

    /** Hadoop lets a writer wait for minutes; what a reader's time-out tells, the writer learns. */
    @Test
    void a_writer_does_not_wait_longer_than_the_reader_of_its_stream() throws Exception {
        CompletableFuture<Throwable> end = new CompletableFuture<>();
        new Thread(() -> {
            try {
                new SocketOutputStream(ours, 0).write(new byte[4 << 20]); // more than the window, and nobody reads
                end.complete(new AssertionError("written"));
            } catch (IOException e) {
                end.complete(e);
            }
        }).start();
        SocketInputStream in = new SocketInputStream(ours, 20);
        while (!end.isDone()) {
            try {
                assertEquals(-1, in.read());
            } catch (SocketTimeoutException e) {
                assertTrue(e.getMessage().contains("20 millis"), e.getMessage()); // before the writer waits it tells nothing
            }
        }
        String text = end.get().getMessage();
        assertTrue(text.startsWith("Connection reset") && text.contains("stands still"), text);
    }

    @Test
    void an_interrupt_ends_the_wait_as_on_a_socket() throws Exception {
        CompletableFuture<Throwable> end = new CompletableFuture<>();
        Thread reader = new Thread(() -> {
            try {
                end.complete(new AssertionError("read " + new SocketInputStream(ours, 60_000).read()));
            } catch (IOException e) {
                end.complete(e);
            }
        });
        reader.start();
        reader.interrupt();
        assertTrue(end.get(60, TimeUnit.SECONDS) instanceof InterruptedIOException, String.valueOf(end.get()));
    }

    /** The peer writes a byte a little later; a wait that a former wake-up ends at once does not see it. */
    private void waitForOneByte(Selector selector) throws Exception {
        CompletableFuture<Void> written = inBackground(() -> {
            LockSupport.parkNanos(2_000_000);
            peer.getOutputStream().write(1);
        });
        assertEquals(1, selector.select(), "Hadoop takes 0 for a time-out");
        selector.selectedKeys().clear();
        written.get(60, TimeUnit.SECONDS);
        assertEquals(1, ours.read(ByteBuffer.allocate(1)));
    }

    @Test
    void an_interrupt_does_not_end_the_next_wait() throws Exception {
        try (Selector selector = ours.provider().openSelector()) {
            ours.register(selector, SelectionKey.OP_READ);
            for (int i = 0; i < 200; i++) {
                Thread interrupted = new Thread(() -> assertDoesNotThrow(() -> selector.select()));
                interrupted.start();
                interrupted.interrupt();
                interrupted.join();
                waitForOneByte(selector);
            }
        }
    }

    @Test
    void a_wake_up_that_nobody_waited_for_ends_with_the_next_look() throws Exception {
        try (Selector selector = ours.provider().openSelector()) {
            ours.register(selector, SelectionKey.OP_READ);
            selector.wakeup();
            assertEquals(0, selector.select());
            selector.wakeup();
            assertEquals(0, selector.selectNow());
            waitForOneByte(selector);
        }
    }

    @Test
    void a_close_at_the_other_side_is_the_end_for_readers_and_a_reset_for_writers() throws Exception {
        peer.close();
        assertTrue(peer.isClosed());
        assertEquals(-1, new SocketInputStream(ours, 60_000).read());
        String text = assertThrows(IOException.class, () -> ours.write(ByteBuffer.allocate(1))).getMessage();
        assertTrue(text.startsWith("Connection reset"), text);
    }

    @Test
    void a_close_on_this_side_wakes_who_waits() throws Exception {
        CompletableFuture<Throwable> end = new CompletableFuture<>();
        SocketInputStream in = new SocketInputStream(ours, 0);
        Thread reader = new Thread(() -> {
            try {
                end.complete(new AssertionError("read " + in.read()));
            } catch (IOException e) {
                end.complete(e);
            }
        });
        reader.start();
        ours.close();
        assertTrue(end.get(60, TimeUnit.SECONDS) instanceof IOException, String.valueOf(end.get()));
        assertThrows(ClosedChannelException.class, () -> ours.read(ByteBuffer.allocate(1)));
    }

    @Test
    void a_close_between_registration_and_wait_ends_the_wait() throws Exception {
        try (Selector selector = ours.provider().openSelector()) {
            ours.register(selector, SelectionKey.OP_READ);
            ours.close();
            assertEquals(1, selector.select(2_000));
            assertEquals(0, selector.keys().size());
        }
    }

    @Test
    void what_a_stream_cannot_do_is_refused() throws Exception {
        ours.configureBlocking(true);
        assertThrows(IllegalBlockingModeException.class, () -> ours.read(ByteBuffer.allocate(1)));
        assertThrows(UnsupportedOperationException.class, () -> ours.provider().openSocketChannel());
        assertFalse(peer.hasSecureChannel());
        assertEquals("/127.0.0.1:1", peer.getRemoteAddressString());
    }

    @Test
    void one_selector_waits_for_streams_of_two_engines() throws Exception {
        CoreSocketChannel theirs = peer.writersChannel();
        try (Selector selector = ours.provider().openSelector()) {
            ours.register(selector, SelectionKey.OP_READ);
            theirs.register(selector, SelectionKey.OP_READ);
            for (int i = 0; i < 200; i++) {
                CoreSocketChannel from = i % 2 == 0 ? ours : theirs;
                CoreSocketChannel to = i % 2 == 0 ? theirs : ours;
                CompletableFuture<Void> written = inBackground(() -> from.write(ByteBuffer.wrap(new byte[] {1})));
                while (to.read(ByteBuffer.allocate(1)) == 0) {
                    assertTrue(selector.select(TimeUnit.MINUTES.toMillis(2)) > 0, "woken by either");
                    selector.selectedKeys().clear();
                }
                written.get(2, TimeUnit.MINUTES);
            }
        }
    }
}
