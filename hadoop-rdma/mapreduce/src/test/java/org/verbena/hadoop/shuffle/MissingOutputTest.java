// SPDX-License-Identifier: Apache-2.0
package org.verbena.hadoop.shuffle;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.File;
import java.io.IOException;
import java.io.RandomAccessFile;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import org.apache.hadoop.mapred.JobConf;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.verbena.core.VbnPeer;

/** Map outputs that a node does not have, or has in part, are failures; one without records is none. */
class MissingOutputTest {
    private static final int BYTES = 1000;
    private static final int MAPS = 10;
    private static final int EMPTY = 2; // the number of a map, and the bytes of a segment without records
    private static final int SUM = KeptOutput.CHECKSUM_BYTES;

    @TempDir
    File folder;

    private TestNode node;
    private CoreClient client;
    private Link link;
    private VbnPeer peer;

    @BeforeEach
    void start() throws Exception {
        node = new TestNode(List.of(folder), MAPS, 1, BYTES);
        node.write(EMPTY, 1, EMPTY, new JobConf(false));
        client = new CoreClient(node.conf, TestNode.secret());
        link = node.link(client);
        peer = link.peer(0);
        assertNotNull(peer, () -> "by HTTP: " + link.reason());
    }

    @AfterEach
    void stop() {
        client.close();
        node.close();
    }

    private long lookup(String attempt) throws IOException {
        return link.lookup(peer, 0, List.of(new Wire.Range(attempt, 0, 0)), TestNode.LIMIT).sizes().get(0).part();
    }

    /** What the node says of a segment that it cannot send. */
    private void assertFails(String attempt) throws IOException {
        ByteBuffer room = ByteBuffer.allocateDirect(BYTES + SUM);
        Exchange exchange = client.send(peer, Wire.LOAD, 0, List.of(new Wire.Range(attempt, 0, BYTES + SUM)), room);
        try {
            assertThrows(IOException.class, () -> exchange.awaitBytes(BYTES + SUM, TestNode.LIMIT));
            assertEquals(0, exchange.failedRange(), "the segment, not the connection");
        } finally {
            client.end(exchange);
        }
    }

    private void assertServes(List<Integer> maps) throws IOException {
        ByteBuffer all = TestNode.fetch(client, link, peer, 0, maps);
        for (int map : maps) {
            int bytes = map == EMPTY ? EMPTY : BYTES;
            byte[] segment = new byte[bytes];
            all.get(segment);
            for (byte one : segment) {
                assertEquals(map, one);
            }
            all.position(all.position() + SUM);
        }
        assertTrue(!all.hasRemaining(), "every length was told");
    }

    @Test
    void an_empty_segment_among_others_ends_neither_their_request_nor_the_next_one() throws Exception {
        assertServes(List.of(0, 1, EMPTY, 3, 4));
        assertServes(List.of(5, 6, 7, 8, 9));
        assertEquals(EMPTY + SUM, lookup(TestNode.attempt(EMPTY)), "empty is told with a length");
    }

    @Test
    void an_index_that_is_missing_is_told_and_the_next_request_is_served() throws Exception {
        Files.delete(Path.of(node.output(3).getPath() + ".index"));
        assertEquals(-1, lookup(TestNode.attempt(3)));
        assertFails(TestNode.attempt(3));
        assertServes(List.of(4, 5));
    }

    @Test
    void a_node_that_has_lost_everything_says_unknown_and_never_empty() throws Exception {
        for (int map = 0; map < MAPS; map++) {
            Files.delete(node.output(map).toPath());
            Files.delete(Path.of(node.output(map).getPath() + ".index"));
        }
        for (int map = 0; map < MAPS; map++) {
            assertEquals(-1, lookup(TestNode.attempt(map)), "map " + map);
            assertFails(TestNode.attempt(map));
        }
    }

    @Test
    void another_attempt_of_the_same_map_is_not_taken_for_the_one_that_was_asked_for() throws Exception {
        String second = TestNode.attempt(1).replaceAll("_0$", "_1");
        assertEquals(-1, lookup(second));
        assertFails(second);
    }

    @Test
    void a_file_with_less_than_its_index_says_is_a_failure_and_no_end() throws Exception {
        try (RandomAccessFile file = new RandomAccessFile(node.output(4), "rw")) {
            file.setLength(BYTES / 2);
        }
        assertEquals(BYTES + SUM, lookup(TestNode.attempt(4)));
        assertFails(TestNode.attempt(4));
        assertServes(List.of(5, 6));
    }
}
