// SPDX-License-Identifier: Apache-2.0
package org.verbena.core.stream;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.verbena.core.Fixture;
import org.verbena.core.VbnEngine;
import org.verbena.core.VbnPeer;

/** An Error concerns the stream in which it happens: both of its sides learn it, and all others go on. */
class StreamErrorTest {
    private static final int PLAIN = 1;
    private static final int THROWS = 2;
    private static final int MILLIS = 60_000;

    private final Fixture fixture = new Fixture();
    private final AtomicReference<CompletableFuture<VbnStream>> accepted = new AtomicReference<>();
    private VbnStreams out;
    private VbnStreams in;
    private VbnPeer peer;

    @BeforeEach
    void start() throws Exception {
        VbnEngine reader = fixture.context("tcp").startEngine("reader");
        VbnEngine writer = fixture.context("tcp").startEngine("writer");
        in = new VbnStreams(reader, StreamServer.MESSAGE, StreamLimits.DEFAULT);
        out = new VbnStreams(writer, StreamServer.MESSAGE, StreamLimits.DEFAULT);
        in.serve(PLAIN, (stream, hello) -> accepted.get().complete(stream));
        in.serve(THROWS, (stream, hello) -> {
            throw new StackOverflowError("of a service");
        });
        peer = writer.connect(reader.address(), null);
    }

    @AfterEach
    void stop() {
        out.close();
        in.close();
        fixture.close();
    }

    private VbnStream open() throws Exception {
        accepted.set(new CompletableFuture<>());
        VbnStream stream = out.open(peer, PLAIN, new byte[0]);
        new BlockingStream(stream).awaitAccepted(MILLIS);
        return stream;
    }

    private static void expectOneByte(VbnStream from, VbnStream to) throws IOException {
        new BlockingStream(from).write(ByteBuffer.wrap(new byte[] {7}));
        BlockingStream reader = new BlockingStream(to);
        reader.readTimeout(MILLIS);
        assertEquals(1, reader.read(ByteBuffer.allocate(1)));
    }

    @Test
    void an_error_of_a_listener_ends_its_stream_and_no_other() throws Exception {
        for (int bytes : new int[] {1, 200_000}) { // eager, and pulled
            VbnStream writer = open();
            VbnStream reader = Fixture.get(accepted.get());
            reader.onChange(changed -> {
                if (changed.received() > 0) {
                    throw new StackOverflowError("of a listener");
                }
            });
            assertEquals(bytes, writer.write(ByteBuffer.allocate(bytes)));
            Fixture.await("the writer learns it", () -> writer.failure() != null);
            assertTrue(reader.failure().text().contains("of a listener"), reader.failure().text());
            VbnStream other = open();
            expectOneByte(other, Fixture.get(accepted.get()));
            other.close();
        }
    }

    @Test
    void all_streams_of_a_lost_peer_learn_it_although_the_listener_of_one_throws() throws Exception {
        List<VbnStream> all = new ArrayList<>();
        for (int i = 0; i < 5; i++) {
            open();
            all.add(Fixture.get(accepted.get()));
        }
        all.forEach(stream -> stream.onChange(changed -> {
            if (changed.failure() != null) {
                throw new StackOverflowError("of a listener");
            }
        }));
        out.engine().close();
        Fixture.await("all learn it", () -> all.stream().allMatch(stream -> stream.failure() != null));
        Fixture.await("a line", () -> fixture.log.stream().anyMatch(line -> line.contains("a listener of a stream threw")));
    }

    @Test
    void an_error_of_a_service_refuses_the_stream_and_no_other() throws Exception {
        VbnStream refused = out.open(peer, THROWS, new byte[0]);
        assertThrows(IOException.class, () -> new BlockingStream(refused).awaitAccepted(MILLIS));
        assertTrue(refused.isRefused());
        VbnStream other = open();
        expectOneByte(other, Fixture.get(accepted.get()));
        other.close();
    }
}
