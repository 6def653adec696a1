// SPDX-License-Identifier: Apache-2.0
package org.verbena.core.plugin;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.verbena.core.VbnConfig;
import org.verbena.core.VbnContext;
import org.verbena.core.VbnEngine;
import org.verbena.core.VbnPeer;

class RemoteTest {
    private static final long SECOND = TimeUnit.SECONDS.toNanos(1);

    private final Remote<VbnPeer> remote = new Remote<>(VbnPeer::close);

    @Test
    void one_caller_connects() {
        assertEquals(Remote.State.UNCONNECTED, remote.state());
        assertTrue(remote.mayConnect());
        assertEquals(Remote.State.CONNECTING, remote.state());
        assertFalse(remote.mayConnect());
    }

    @Test
    void pauses_double_from_half_a_minute_to_eight_minutes() {
        long now = 0;
        for (int seconds : new int[] {30, 60, 120, 240, 480, 480}) {
            assertTrue(remote.mayConnect(now));
            assertEquals(seconds == 30 && now == 0, remote.pause(Remote.State.DOWN, now), "only the first is said");
            assertFalse(remote.mayConnect(now + seconds * SECOND - 1));
            now += seconds * SECOND;
        }
        assertEquals(Remote.State.DOWN, remote.state());
    }

    @Test
    void a_connection_that_stood_for_eight_minutes_makes_the_next_pause_a_first_one() {
        Remote<Object> other = new Remote<>(ended -> { });
        other.pause(Remote.State.DOWN, 0);
        long now = 30 * SECOND;
        assertTrue(other.mayConnect(now));
        other.up(new Object(), now);
        assertFalse(other.pause(Remote.State.DOWN, now + 479 * SECOND));
        now += 600 * SECOND;
        assertTrue(other.mayConnect(now));
        other.up(new Object(), now);
        now += 480 * SECOND;
        assertTrue(other.pause(Remote.State.DOWN, now));
        assertTrue(other.mayConnect(now + 30 * SECOND));
    }

    @Test
    void who_tells_late_of_a_lost_connection_leaves_the_next_one_alone() {
        Remote<String> other = new Remote<>(ended -> { });
        other.up("next");
        assertFalse(other.down("last"));
        assertEquals("next", other.peer());
        assertTrue(other.down("next"));
        assertNull(other.peer());
    }

    @Test
    void it_can_be_forgotten_when_it_is_no_connection_and_no_pause() {
        remote.pause(Remote.State.REFUSED, 0);
        assertFalse(remote.retire(SECOND), "its pause is what keeps others from trying");
        assertTrue(remote.retire(31 * SECOND));
        assertFalse(remote.mayConnect(31 * SECOND), "its owner has forgotten it");
    }

    @Test
    void an_unused_connection_ends_without_a_pause() throws Exception {
        VbnConfig config = new VbnConfig().set("tl.enable", "self,shm").jobKey(new byte[32]);
        try (VbnContext context = VbnContext.open(config); VbnEngine engine = context.startEngine("one");
                VbnEngine other = context.startEngine("other")) {
            assertTrue(remote.mayConnect());
            VbnPeer peer = engine.connect(other.address(), null);
            remote.up(peer);
            assertSame(peer, remote.peer());
            assertFalse(remote.mayConnect());
            remote.release(peer);
            assertNull(remote.peer());
            assertTrue(remote.mayConnect());
        }
    }
}
