// SPDX-License-Identifier: Apache-2.0
package org.verbena.core.plugin;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNotSame;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;

/** Time passes when a test says so. */
class RemotesTest {
    private static final long START = -7; // times of System.nanoTime may be negative
    private static final long HOUR = Remotes.FORGET;
    private static final long SECOND = TimeUnit.SECONDS.toNanos(1);
    private static final int MOST = 3;

    private final List<String> closed = new ArrayList<>();
    private final Remotes<Integer, Remote<String>> remotes =
        new Remotes<>(MOST, remote -> remote, START);

    private Remote<String> of(int address, long now) {
        return remotes.of(address, at -> new Remote<>(closed::add), now);
    }

    private Remote<String> connected(int address, long now) {
        Remote<String> remote = of(address, now);
        assertTrue(remote.mayConnect(now));
        remote.up("to " + address, now);
        return remote;
    }

    @Test
    void an_address_leads_to_the_same_for_as_long_as_somebody_asks() {
        Remote<String> first = of(1, START);
        assertSame(first, of(1, START + HOUR - 1));
        of(2, START + HOUR + 1); // a sweep is due
        assertSame(first, of(1, START + HOUR + 1));
    }

    @Test
    void what_nobody_has_asked_for_in_an_hour_is_forgotten_by_itself() {
        Remote<String> first = of(1, START);
        of(2, START + HOUR);
        assertEquals(1, remotes.size());
        assertFalse(first.mayConnect(START + HOUR), "who still holds it does not connect: there may be another one");
        assertNotSame(first, of(1, START + HOUR));
    }

    @Test
    void connections_and_pauses_are_not_forgotten() {
        connected(1, START);
        of(2, START).pause(Remote.State.REFUSED, START + HOUR);
        assertTrue(of(3, START).mayConnect(START), "being made");
        remotes.sweep(START + HOUR);
        assertEquals(3, remotes.size());
        remotes.sweep(START + HOUR + 31 * SECOND);
        assertEquals(2, remotes.size(), "the pause is over");
    }

    @Test
    void no_more_are_remembered_than_may_be_and_those_that_ended_make_room() {
        Remote<String> first = connected(1, START);
        connected(2, START);
        connected(3, START);
        assertNull(of(4, START));
        assertSame(first, of(1, START));
        first.release(first.peer());
        assertNull(of(4, START + SECOND - 1), "it looks once a second");
        Remote<String> fourth = of(4, START + SECOND);
        assertNotNull(fourth);
        assertEquals(MOST, remotes.size());
        assertTrue(first.isRetired());
        assertNull(of(1, START + SECOND));
    }

    @Test
    void thousands_of_addresses_that_nobody_connects_to_do_not_grow_it() {
        for (int i = 0; i < 5000; i++) {
            of(i, START + i * SECOND);
            assertTrue(remotes.size() <= MOST);
        }
    }

    @Test
    void closing_ends_all_connections_and_those_that_come_late() {
        connected(1, START);
        Remote<String> late = of(2, START);
        assertTrue(late.mayConnect(START));
        remotes.close();
        assertEquals(List.of("to 1"), closed);
        late.up("to 2", START);
        assertEquals(List.of("to 1", "to 2"), closed);
        assertNull(late.peer());
        assertFalse(late.mayConnect(START));
    }
}
