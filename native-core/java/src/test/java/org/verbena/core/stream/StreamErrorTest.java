// SPDX-License-Identifier: Apache-2.0
package org.verbena.core.stream;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.verbena.core.Fixture;

/** An Error concerns the stream in which it happens: both of its sides learn it, and all others go on. */
class StreamErrorTest {
    private static final int THROWS = 2;
    private static final int MILLIS = 60_000;

    private final Fixture fixture = new Fixture();
    private StreamEnds ends;

    @BeforeEach
    void start() throws Exception {
        ends = StreamEnds.of(fixture.context("tcp").startEngine("reader"), fixture.context("tcp").startEngine("writer"));
        ends.in.serve(THROWS, (stream, hello) -> {
            throw new StackOverflowError("of a service");
        });
    }

    @AfterEach
    void stop() {
        ends.close();
        fixture.close();
    }

    private VbnStream open() throws Exception {
        VbnStream stream = ends.open();
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
            VbnStream reader = ends.accepted();
            reader.onChange(changed -> {
                if (changed.received() > 0) {
                    throw new StackOverflowError("of a listener");
                }
            });
            assertEquals(bytes, writer.write(ByteBuffer.allocate(bytes)));
            Fixture.await("the writer learns it", () -> writer.failure() != null);
            assertTrue(reader.failure().text().contains("of a listener"), reader.failure().text());
            VbnStream other = open();
            expectOneByte(other, ends.accepted());
            other.close();
        }
    }

    @Test
    void all_streams_of_a_lost_peer_learn_it_although_the_listener_of_one_throws() throws Exception {
        List<VbnStream> all = new ArrayList<>();
        for (int i = 0; i < 5; i++) {
            open();
            all.add(ends.accepted());
        }
        all.forEach(stream -> stream.onChange(changed -> {
            if (changed.failure() != null) {
                throw new StackOverflowError("of a listener");
            }
        }));
        ends.out.engine().close();
        Fixture.await("all learn it", () -> all.stream().allMatch(stream -> stream.failure() != null));
        Fixture.await("a line", () -> fixture.log.stream().anyMatch(line -> line.contains("a listener of a stream threw")));
    }

    @Test
    void an_error_of_a_service_refuses_the_stream_and_no_other() throws Exception {
        VbnStream refused = ends.out.open(ends.peer, THROWS, new byte[0]);
        assertThrows(IOException.class, () -> new BlockingStream(refused).awaitAccepted(MILLIS));
        assertTrue(refused.isRefused());
        VbnStream other = open();
        expectOneByte(other, ends.accepted());
        other.close();
    }
}
