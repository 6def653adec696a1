// SPDX-License-Identifier: Apache-2.0
package org.apache.hadoop.ipc;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import java.util.TreeSet;
import org.apache.hadoop.tools.protocolPB.GetUserMappingsProtocolClientSideTranslatorPB;
import org.junit.jupiter.api.Test;

/** Streams of clients that read nothing, send nonsense, stop in the middle, or leave. */
class StrangersTest {
    private static final int CALLS = 1000;
    private static final int BYTES = 100_000;
    /** Answers in the client's window, kept by the server, of its three handlers, in the queue, and of who waits for the queue. */
    private static final int MOST = (1 << 20) / BYTES + 1 + (1 << 20) / BYTES + 1 + 3 + 3 + 3 + 1;

    @Test
    void a_client_that_reads_no_answers_is_not_read_further_and_gets_all_of_them_later() throws Exception {
        try (Groups groups = new Groups(true, "ipc.server.handler.queue.size", "1");
                RawStream slow = new RawStream(groups.conf, groups.server.getPort());
                GetUserMappingsProtocolClientSideTranslatorPB other = groups.client()) {
            Groups.connect(groups.conf, other);
            int before = groups.runs.get();
            slow.begin();
            for (int i = 0; i < CALLS; i++) {
                slow.send(i, "size " + BYTES);
            }
            Groups.until("the window is full", () -> groups.runs.get() - before >= (1 << 20) / BYTES);
            for (int i = 0; i < 200; i++) {
                assertArrayEquals(new String[] {"b"}, other.getGroupsForUser("echo b"));
            }
            int ran = groups.runs.get() - before - 200;
            assertTrue(ran <= MOST, ran + " calls were run for a client that reads nothing, at most " + MOST + " expected");
            Set<Integer> answered = new TreeSet<>();
            for (int i = 0; i < CALLS; i++) {
                Map.Entry<Integer, String> answer = slow.receive();
                assertEquals(BYTES, answer.getValue().length());
                answered.add(answer.getKey());
            }
            assertEquals(CALLS, answered.size());
        }
    }

    @Test
    void a_client_is_gone_when_it_reads_nothing_for_long_or_when_much_waits() {
        long second = 1_000_000_000L;
        assertFalse(ServedStreams.isGone(0, 10_000 * second, 900 * second));
        assertFalse(ServedStreams.isGone(1, 900 * second, 900 * second));
        assertTrue(ServedStreams.isGone(1, 901 * second, 900 * second));
        assertFalse(ServedStreams.isGone(1L << 40, 10 * second, 900 * second));
        assertTrue(ServedStreams.isGone((64L << 20) + 1, 11 * second, 900 * second));
    }

    @Test
    void nonsense_and_half_requests_end_their_stream_alone() throws Exception {
        long seed = Long.getLong("seed", System.nanoTime());
        Random random = new Random(seed);
        try (Groups groups = new Groups(true); GetUserMappingsProtocolClientSideTranslatorPB good = groups.client()) {
            Groups.connect(groups.conf, good);
            for (int i = 0; i < 200; i++) {
                byte[] nonsense = new byte[1 + random.nextInt(200)];
                random.nextBytes(nonsense);
                try (RawStream stranger = new RawStream(groups.conf, groups.server.getPort())) {
                    if (i % 2 == 0) {
                        stranger.begin();
                        stranger.send(1, "echo a");
                        assertEquals("a", stranger.receive().getValue());
                        // A frame of so many bytes that are none of the protocol; every fourth one stops in the middle.
                        stranger.output().write(new byte[] {0, 0, (byte) (nonsense.length >> 8), (byte) nonsense.length});
                        stranger.output().write(nonsense, 0, i % 4 == 0 ? nonsense.length : nonsense.length / 2);
                        if (i % 4 == 0) {
                            stranger.awaitEnd();
                        }
                    } else {
                        stranger.output().write(nonsense);
                    }
                }
                assertArrayEquals(new String[] {"b"}, good.getGroupsForUser("echo b"), "seed " + seed);
            }
            Groups.until("the strangers' connections end, seed " + seed, () -> groups.server.getNumOpenConnections() <= 2);
        }
    }

    @Test
    void a_request_longer_than_allowed_ends_its_connection_with_the_error_of_tcp() throws Exception {
        String[] errors = new String[2];
        for (int core = 0; core < 2; core++) {
            try (Groups groups = new Groups(core == 1, "ipc.maximum.data.length", "100000");
                    GetUserMappingsProtocolClientSideTranslatorPB client = groups.client()) {
                if (core == 1) {
                    Groups.connect(groups.conf, client);
                }
                try {
                    client.getGroupsForUser("echo " + "x".repeat(200_000));
                } catch (IOException e) {
                    errors[core] = e.getClass().getName();
                }
                assertArrayEquals(new String[] {"b"}, client.getGroupsForUser("echo b"));
            }
        }
        assertEquals(java.io.EOFException.class.getName(), errors[1]);
        assertTrue(errors[0] != null, "by TCP, too: the reason may be a reset");
    }
}
