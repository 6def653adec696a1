// SPDX-License-Identifier: Apache-2.0
package org.verbena.hadoop.shuffle;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;

import java.io.File;
import java.io.FileOutputStream;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.verbena.core.VbnPeer;

/** Map outputs lie in several local folders, on disks of their own. */
class ReadersTest {
    private static final int BYTES = 1000;
    private static final int MAPS = 6;

    @TempDir
    Path place;

    private List<File> folders() {
        return List.of(place.resolve("one").toFile(), place.resolve("two").toFile(), place.resolve("three").toFile());
    }

    @Test
    void one_request_takes_segments_of_all_folders_in_its_order() throws Exception {
        try (TestNode node = new TestNode(folders(), MAPS, 2, BYTES);
                CoreClient client = new CoreClient(node.conf, TestNode.secret())) {
            Link link = node.link(client);
            VbnPeer peer = link.peer(1);
            assertNotNull(peer, () -> "by HTTP: " + link.reason());
            List<Integer> maps = List.of(3, 0, 1, 5, 2, 4, 0);
            ByteBuffer all = TestNode.fetch(client, link, peer, 1, maps);
            assertEquals(maps.size() * (BYTES + 4), all.limit());
            for (int i = 0; i < maps.size(); i++) {
                assertEquals((int) maps.get(i), all.get(i * (BYTES + 4)));
                assertEquals((int) maps.get(i), all.get(i * (BYTES + 4) + BYTES - 1));
            }
        }
    }

    @Test
    void a_disk_that_stands_still_keeps_nobody_waiting_who_reads_another_one() throws Exception {
        try (TestNode node = new TestNode(folders(), MAPS, 2, BYTES);
                CoreClient client = new CoreClient(node.conf, TestNode.secret())) {
            Link link = node.link(client);
            VbnPeer peer = link.peer(0);
            assertNotNull(peer, () -> "by HTTP: " + link.reason());
            TestNode.fetch(client, link, peer, 0, List.of(0)); // its place is known from now on
            Path stands = node.output(0).toPath();
            Files.delete(stands);
            assertEquals(0, new ProcessBuilder("mkfifo", stands.toString()).start().waitFor()); // who opens it waits for a writer
            Exchange waits = client.send(peer, Wire.LOAD, 0, List.of(new Wire.Range(TestNode.attempt(0), 0, BYTES)),
                ByteBuffer.allocateDirect(BYTES));
            try {
                assertEquals(2 * (BYTES + 4), TestNode.fetch(client, link, peer, 0, List.of(1, 2)).limit());
            } finally {
                new FileOutputStream(stands.toFile()).close(); // ends the wait, so that the node can end
                client.end(waits);
            }
        }
    }
}
