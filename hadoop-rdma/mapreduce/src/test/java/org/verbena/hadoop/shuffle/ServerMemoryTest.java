// SPDX-License-Identifier: Apache-2.0
package org.verbena.hadoop.shuffle;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.File;
import java.io.IOException;
import java.net.InetAddress;
import java.nio.ByteBuffer;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.verbena.core.VbnConfig;
import org.verbena.core.VbnContext;
import org.verbena.core.VbnEngine;
import org.verbena.core.VbnPeer;
import org.verbena.core.plugin.JobKeys;

/** Reducers that stand still leave memory to those that go on. */
class ServerMemoryTest {
    private static final long MIB = 1 << 20;
    private static final long LIMIT = 16 * MIB;
    private static final int STUCK = 6;
    private static final int SEGMENT = 20 << 20;

    @TempDir
    Path folder;

    @Test
    void each_that_stands_still_holds_at_most_a_quarter_of_what_stays_free() {
        List<Long> held = new ArrayList<>();
        for (int n = 1; n <= 25; n++) {
            long mine = 0;
            long others = held.stream().mapToLong(Long::longValue).sum();
            for (int bytes; (bytes = ServerMemory.share(mine, others + mine, LIMIT, Wire.PIECE)) > 0;) {
                mine += bytes;
                assertTrue(others + mine <= LIMIT);
            }
            held.add(mine);
            long free = LIMIT - others - mine;
            assertTrue(mine >= ServerMemory.LEAST, "everybody gets something: " + n);
            assertTrue(mine <= Math.max(free / 4, ServerMemory.LEAST), "number " + n + " holds " + mine + ", free are " + free);
            assertTrue(n != 4 || free >= 6 * MIB, free + " bytes are free beside four");
        }
    }

    @Test
    void short_requests_get_what_they_want_while_anything_is_free() {
        assertEquals(100, ServerMemory.share(0, LIMIT - 100, LIMIT, 100));
        assertEquals(0, ServerMemory.share(0, LIMIT - 99, LIMIT, 100));
        assertEquals(MIB, ServerMemory.share(0, 0, LIMIT, Wire.PIECE));
        assertEquals(0, ServerMemory.share(LIMIT / 5, LIMIT / 5, LIMIT, Wire.PIECE));
    }

    /** A reducer that has asked and takes nothing of what it is offered. */
    private static AutoCloseable stuck(TestNode node, int reducer) throws Exception {
        VbnConfig config = new VbnConfig().jobKey(JobKeys.derive(TestNode.secret().getEncoded(), JobServers.KEY_LABEL));
        VbnContext context = VbnContext.open(config.set("tl.tcp.interface", "127.0.0.1").set("security.same_user", "false"));
        VbnEngine engine = context.startEngine("stuck");
        CountDownLatch offered = new CountDownLatch(1);
        engine.onMessage(Wire.DATA, message -> offered.countDown());
        byte[] address = node.servers().address(TestNode.JOB, InetAddress.getLoopbackAddress());
        VbnPeer peer = engine.connect(address, null);
        for (int request = 1; request <= 5; request++) { // as many fetchers
            ByteBuffer ranges = Wire.ranges(List.of(new Wire.Range(TestNode.attempt(0), 0, SEGMENT)));
            engine.send(peer, Wire.LOAD, Wire.header(reducer, request, 0), new ByteBuffer[] {ranges}, null);
        }
        assertTrue(offered.await(TestNode.LIMIT, TimeUnit.NANOSECONDS), "a piece is offered");
        return () -> {
            engine.close();
            context.close();
        };
    }

    @Test
    void a_reducer_gets_its_segments_beside_others_that_stand_still() throws Exception {
        List<AutoCloseable> stuck = new ArrayList<>();
        try (TestNode node = new TestNode(List.of(new File(folder.toFile(), "local")), 1, STUCK + 1, SEGMENT);
                CoreClient client = new CoreClient(node.conf, TestNode.secret())) {
            for (int reducer = 0; reducer < STUCK; reducer++) {
                stuck.add(stuck(node, reducer));
            }
            Link link = node.link(client);
            VbnPeer peer = link.peer(STUCK);
            assertNotNull(peer, () -> "not connected: " + link.reason());
            assertEquals(SEGMENT + 4, TestNode.fetch(client, link, peer, STUCK, List.of(0)).limit());
        } catch (IOException e) {
            throw new AssertionError(e.getMessage(), e);
        } finally {
            for (AutoCloseable one : stuck) {
                one.close();
            }
        }
    }
}
