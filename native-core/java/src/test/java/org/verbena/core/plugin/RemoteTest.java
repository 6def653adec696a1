// SPDX-License-Identifier: Apache-2.0
package org.verbena.core.plugin;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.verbena.core.VbnConfig;
import org.verbena.core.VbnContext;
import org.verbena.core.VbnEngine;
import org.verbena.core.VbnException;
import org.verbena.core.VbnPeer;
import org.verbena.core.VbnStatus;

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

    private static final VbnException CLOSED = new VbnException(VbnStatus.PEER_LOST, "the peer closed the connection");

    @Test
    void the_end_of_a_connection_that_nobody_used_is_no_failure() {
        Remote<String> other = new Remote<>(ended -> { });
        for (int i = 0; i < 10; i++) {
            assertTrue(other.mayConnect());
            other.up("one");
            assertEquals(Remote.End.UNUSED, other.ended("one", CLOSED, false));
            assertEquals(Remote.State.UNCONNECTED, other.state());
        }
    }

    @Test
    void the_end_of_a_connection_that_somebody_waited_for_or_that_broke_is_one() {
        VbnException refused = new VbnException(VbnStatus.AUTH, "another key");
        Remote<String> other = new Remote<>(ended -> { });
        other.up("one");
        assertEquals(Remote.End.FAILED, other.ended("one", CLOSED, true));
        assertEquals(Remote.State.DOWN, other.state());
        assertFalse(other.mayConnect());
        other.up("two");
        assertEquals(Remote.End.FAILED_AGAIN, other.ended("two", refused, false));
        other.up("three");
        assertEquals(Remote.End.FAILED_AGAIN, other.ended("three", null, false), "this side's engine has ended");
        assertEquals(Remote.End.NOT_THIS, other.ended("three", refused, true), "told twice");
        other.up("four");
        assertEquals(Remote.End.NOT_THIS, other.ended("three", CLOSED, false), "told late");
        assertEquals("four", other.peer());
    }

    @Test
    void others_wait_for_the_one_who_connects() throws Exception {
        Remote<String> other = new Remote<>(ended -> { });
        assertNull(other.await(), "nobody connects");
        assertFalse(other.isSilent());
        Attempt attempt = other.begin(600_000);
        assertSame(attempt, other.attempt());
        assertNull(other.begin(600_000));
        CompletableFuture<String> waiting = CompletableFuture.supplyAsync(other::await);
        other.up("one");
        attempt.end();
        assertEquals("one", waiting.get(60, TimeUnit.SECONDS));
        assertEquals("one", other.await());
        other.down("one");
        assertNull(other.await());
        assertNull(other.begin(600_000), "in a pause");
    }

    @Test
    void a_silent_process_is_not_waited_for() {
        Remote<String> other = new Remote<>(ended -> { });
        Attempt attempt = other.begin(20);
        attempt.asks();
        assertNull(other.await());
        assertTrue(attempt.decided().isDone());
    }

    @Test
    void what_was_closed_is_no_connection_any_more() {
        List<String> closed = new ArrayList<>();
        Remote<String> other = new Remote<>(closed::add);
        other.up("one");
        other.close();
        assertEquals(List.of("one"), closed);
        assertTrue(other.isRetired());
        assertFalse(other.mayConnect());
        other.up("late");
        assertEquals(List.of("one", "late"), closed);
        assertNull(other.peer());
        assertEquals(Remote.State.UNCONNECTED, other.state());
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
