// SPDX-License-Identifier: Apache-2.0
package org.verbena.core.plugin;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CopyOnWriteArrayList;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.verbena.core.Fixture;
import org.verbena.core.VbnConfig;
import org.verbena.core.VbnContext;
import org.verbena.core.VbnEngine;
import org.verbena.core.VbnException;
import org.verbena.core.VbnPeer;
import org.verbena.core.VbnStatus;
import org.verbena.core.stream.StreamLimits;
import org.verbena.core.stream.VbnStream;
import org.verbena.core.stream.VbnStreams;

/** Two processes of a cluster with different keys: both say which setting of the plugin is to be looked at. */
@Timeout(120)
class WrongKeyTest {
    private static final ClusterKey KEY = new ClusterKey("verbena.x.", "key", false);

    @ParameterizedTest
    @ValueSource(strings = {"self,shm", "tcp"})
    void streams_to_a_peer_with_another_key_and_its_log_name_the_setting(String transports) throws Exception {
        List<String> warned = new CopyOnWriteArrayList<>();
        PluginLog log = new PluginLog(warned::add, warned::add, info -> { }, debug -> { });
        VbnConfig other = new VbnConfig().set("tl.enable", transports).jobKey(Fixture.jobKey(2)).log(new RefusalLog(log, KEY));
        try (Fixture fixture = new Fixture(); VbnContext server = VbnContext.open(other);
                VbnEngine serving = server.startEngine("serving");
                VbnEngine calling = fixture.context(transports).startEngine("calling")) {
            VbnStreams streams = new VbnStreams(calling, 1, StreamLimits.DEFAULT);
            CompletableFuture<VbnException> lost = new CompletableFuture<>();
            VbnPeer peer = calling.connect(serving.address(), (gone, cause) -> lost.complete(cause));
            VbnStream early = streams.open(peer, 1, new byte[0]);
            assertSaid(Fixture.get(lost));
            Fixture.await("the first stream's failure", () -> early.failure() != null);
            assertSaid(early.failure());
            early.close();
            VbnStream late = streams.open(peer, 1, new byte[0]);
            Fixture.await("the stream's failure", () -> late.failure() != null);
            assertEquals(VbnStatus.AUTH, late.failure().kind());
            assertSaid(late.failure());
            assertSaid(peer.lossCause());
            late.close();
            Fixture.await("the server's line", () -> !warned.isEmpty());
            assertEquals(1, warned.size(), warned.toString());
            assertTrue(warned.get(0).startsWith("Verbena refused a peer over "), warned.toString());
            assertTrue(warned.get(0).contains("the same key (verbena.x.key.file)"), warned.toString());
        }
    }

    private static void assertSaid(VbnException cause) {
        String text = KEY.words(cause);
        assertTrue(text.contains("give all processes of the job the same key (verbena.x.key.file)"), text);
        assertTrue(!text.contains("VBN_ERR"), text);
    }
}
