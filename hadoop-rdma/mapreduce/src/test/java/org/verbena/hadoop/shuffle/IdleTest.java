// SPDX-License-Identifier: Apache-2.0
package org.verbena.hadoop.shuffle;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNotSame;

import java.io.File;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.verbena.core.VbnPeer;

/** The node ends what nobody uses for a minute; that is no failure. */
class IdleTest {
    private static final int MANY = 3;

    @TempDir
    Path folder;

    @Test
    void after_an_idle_minute_map_outputs_come_by_the_core_again_at_once() throws Exception {
        try (TestNode node = new TestNode(List.of(new File(folder.toFile(), "local")), 1, 1, 1000);
                CoreClient client = new CoreClient(node.conf, TestNode.secret())) {
            Link link = node.link(client);
            VbnPeer last = null;
            for (int minute = 0; minute < MANY; minute++) {
                VbnPeer peer = link.peer(0);
                assertNotNull(peer, () -> "by HTTP: " + link.reason());
                assertNotSame(last, peer);
                last = peer;
                assertEquals(1004, TestNode.fetch(client, link, peer, 0, List.of(0)).limit());
                CountDownLatch lost = new CountDownLatch(1);
                peer.onLost((gone, cause) -> lost.countDown());
                do { // the node may not have noted the end of the request yet
                    node.servers().closeUnused(System.nanoTime() + JobServers.IDLE + 1);
                } while (!lost.await(10, TimeUnit.MILLISECONDS));
            }
        }
    }
}
