// SPDX-License-Identifier: Apache-2.0
package org.verbena.core.stream;

import java.nio.ByteBuffer;
import java.util.HexFormat;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import org.verbena.core.Fixture;
import org.verbena.core.VbnConfig;
import org.verbena.core.VbnContext;
import org.verbena.core.VbnEngine;

/** What tests connect to, in this JVM or in a second one. */
public final class StreamServer implements AutoCloseable {
    /** The id of the streams' messages. */
    static final int MESSAGE = 7;
    /** Sends back what comes, up to the end. */
    static final int ECHO = 1;
    /** Accepts, and never reads. */
    static final int DEAF = 2;
    /** Sends the hello ten thousand times and ends its output, then reads to the end. */
    static final int TALKER = 3;
    /** Sends the hello, then ends the process. */
    static final int DIES = 4;
    static final int TALKS = 10_000;

    private final ExecutorService threads = Executors.newCachedThreadPool(task -> {
        Thread thread = new Thread(task, "stream-server");
        thread.setDaemon(true);
        return thread;
    });
    final VbnStreams streams;

    StreamServer(VbnEngine engine, StreamLimits limits) {
        streams = new VbnStreams(engine, MESSAGE, limits);
        streams.serve(ECHO, (stream, hello) -> serve(stream, () -> echo(new BlockingStream(stream))));
        streams.serve(DEAF, (stream, hello) -> true);
        streams.serve(TALKER, (stream, hello) -> {
            byte[] text = bytes(hello);
            return serve(stream, () -> talk(new BlockingStream(stream), text));
        });
        streams.serve(DIES, (stream, hello) -> {
            byte[] text = bytes(hello);
            return serve(stream, () -> new BlockingStream(stream).write(ByteBuffer.wrap(text)));
        });
    }

    private static byte[] bytes(ByteBuffer hello) {
        byte[] text = new byte[hello.remaining()];
        hello.get(text);
        return text;
    }

    /** Work on a stream that may fail. */
    @FunctionalInterface
    private interface Work {
        void run() throws Exception;
    }

    private boolean serve(VbnStream stream, Work work) {
        threads.execute(() -> {
            try {
                work.run();
            } catch (Exception e) {
                stream.close(); // the client sees it
            }
        });
        return true;
    }

    private static void echo(BlockingStream stream) throws Exception {
        try (stream) {
            ByteBuffer buffer = ByteBuffer.allocate(100_000);
            while (stream.read(buffer.clear()) >= 0) {
                stream.write(buffer.flip());
            }
        }
    }

    private static void talk(BlockingStream stream, byte[] text) throws Exception {
        try (stream) {
            for (int i = 0; i < TALKS; i++) {
                stream.write(ByteBuffer.wrap(text));
            }
            stream.endOutput();
            ByteBuffer rest = ByteBuffer.allocate(1000);
            while (stream.read(rest.clear()) >= 0) {
                rest.clear();
            }
        }
    }

    @Override
    public void close() {
        streams.close();
        threads.shutdownNow();
    }

    /** In a second JVM: serves until standard input ends. */
    public static void main(String transports) throws Exception {
        VbnConfig config = new VbnConfig().set("tl.enable", transports).jobKey(Fixture.jobKey(1));
        try (VbnContext context = VbnContext.open(config); VbnEngine engine = context.startEngine("server");
                StreamServer server = new StreamServer(engine, StreamLimits.DEFAULT)) {
            System.out.println("address " + HexFormat.of().formatHex(engine.address()));
            System.in.readAllBytes();
            Fixture.await("all streams closed", () -> server.streams.counters().get("stream.open") == 0);
            System.out.println("violations " + server.streams.counters().get("stream.violations"));
        }
    }
}
