// SPDX-License-Identifier: Apache-2.0
package org.verbena.hadoop.shuffle;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.io.File;
import java.io.IOException;
import java.io.RandomAccessFile;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.verbena.core.VbnPeer;

/** A NodeManager that ends in the middle of a segment and starts again, and reducers that end in the middle of theirs. */
class NodeFaultsTest {
    private static final int SEGMENT = 3 * Wire.PIECE;
    private static final int WHOLE = SEGMENT + KeptOutput.CHECKSUM_BYTES;
    private static final int DEATHS = 20; // each has a quarter of what is left: after so many nothing would be

    @TempDir
    File folder;

    private TestNode node(int maps) throws Exception {
        return new TestNode(List.of(folder), maps, 1, SEGMENT);
    }

    private static VbnPeer peer(Link link) {
        VbnPeer peer = link.peer(0);
        assertNotNull(peer, () -> "by HTTP: " + link.reason());
        return peer;
    }

    private static void assertServes(TestNode node, CoreClient client, int map) throws IOException {
        Link link = node.link(client);
        ByteBuffer all = TestNode.fetch(client, link, peer(link), 0, List.of(map));
        for (int i = 0; i < SEGMENT; i++) {
            assertEquals(map, all.get(i));
        }
        assertEquals(WHOLE, all.limit());
    }

    @Test
    void a_node_that_ends_in_the_middle_of_a_segment_costs_no_map_output_and_serves_it_after_its_next_start() throws Exception {
        try (CoreClient client = new CoreClient(TestNode.patient(), TestNode.secret())) {
            TestNode node = node(2);
            File stands = node.output(0);
            try {
                Link link = node.link(client);
                VbnPeer peer = peer(link);
                Files.delete(stands.toPath());
                assertEquals(0, new ProcessBuilder("mkfifo", stands.getPath()).start().waitFor());
                ByteBuffer room = ByteBuffer.allocateDirect(2 * WHOLE);
                Exchange cut = client.send(peer, Wire.LOAD, 0, List.of(new Wire.Range(TestNode.attempt(1), 0, WHOLE),
                    new Wire.Range(TestNode.attempt(0), 0, WHOLE)), room);
                cut.awaitBytes(2 * Wire.PIECE, TestNode.LIMIT);
                node.close();
                assertThrows(IOException.class, () -> cut.awaitBytes(2 * WHOLE, TestNode.LIMIT));
                assertEquals(-1, cut.failedRange(), "the connection failed, and no map is to blame");
                client.end(cut);
            } finally {
                node.close();
            }
            new RandomAccessFile(stands, "rw").close(); // its disk goes on; this waits for nobody
            Files.delete(stands.toPath());
            try (TestNode again = node(2)) {
                assertServes(again, client, 0);
                assertServes(again, client, 1);
            }
        }
    }

    @Test
    void memory_of_reducers_that_end_in_the_middle_of_a_segment_comes_back() throws Exception {
        try (TestNode node = node(8)) {
            for (int death = 0; death < DEATHS; death++) {
                try (CoreClient dies = new CoreClient(node.conf, TestNode.secret())) {
                    VbnPeer peer = peer(node.link(dies));
                    List<Exchange> under = new ArrayList<>();
                    for (int map = 0; map < 8; map++) {
                        under.add(dies.send(peer, Wire.LOAD, 0, List.of(new Wire.Range(TestNode.attempt(map), 0, WHOLE)),
                            ByteBuffer.allocateDirect(WHOLE)));
                    }
                    under.get(0).awaitBytes(1, TestNode.LIMIT);
                }
            }
            try (CoreClient lives = new CoreClient(node.conf, TestNode.secret())) {
                for (int map = 0; map < 8; map++) {
                    assertServes(node, lives, map);
                }
            }
        }
    }
}
