// SPDX-License-Identifier: Apache-2.0
package org.apache.hadoop.hdfs.server.datanode.fsdataset.impl;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.io.InterruptedIOException;
import java.lang.reflect.Proxy;
import java.util.ArrayList;
import java.util.List;
import org.apache.hadoop.hdfs.server.datanode.ReplicaInPipeline;
import org.junit.jupiter.api.Test;

/** Waits for writers by a clock that stands still but for the waits. */
class WriterStopsTest {
    private static final long NEVER = Long.MAX_VALUE;

    private long now = 1_000;
    private final List<Long> waits = new ArrayList<>();

    /**
     * A replica whose writer ends after so many milliseconds.
     *
     * @param interrupted who waits for it is interrupted then
     */
    private ReplicaInPipeline replica(long after, boolean interrupted) {
        return (ReplicaInPipeline) Proxy.newProxyInstance(getClass().getClassLoader(), new Class<?>[] {ReplicaInPipeline.class},
            (proxy, method, arguments) -> {
                if (!method.getName().equals("stopWriter")) {
                    return "a replica"; // toString
                }
                long patience = (Long) arguments[0];
                waits.add(patience);
                boolean late = patience > 0 && patience < after;
                now += late ? patience : after;
                if (late || interrupted) {
                    throw new IOException("of either kind");
                }
                return null;
            });
    }

    @Test
    void writers_that_do_not_end_share_one_time_out() throws Exception {
        WriterStops stops = new WriterStops(60_000, () -> now);
        assertTrue(stops.stop(replica(20_000, false)));
        assertFalse(stops.stop(replica(NEVER, false)));
        assertFalse(stops.stop(replica(NEVER, false)));
        assertTrue(stops.stop(replica(0, false)));
        assertEquals(List.of(60_000L, 40_000L, 1L, 1L), waits);
    }

    @Test
    void an_interrupt_is_told_from_a_time_out_and_stays() throws Exception {
        WriterStops stops = new WriterStops(60_000, () -> now);
        assertThrows(InterruptedIOException.class, () -> stops.stop(replica(59_999, true)));
        assertTrue(Thread.interrupted());
        assertFalse(stops.stop(replica(NEVER, false)));
        assertThrows(InterruptedIOException.class, () -> stops.stop(replica(0, true)), "also when the time is up");
        assertTrue(Thread.interrupted());
    }

    @Test
    void without_a_time_out_only_an_interrupt_ends_a_wait() throws Exception {
        WriterStops stops = new WriterStops(0, () -> now);
        assertTrue(stops.stop(replica(1_000_000, false)));
        assertThrows(InterruptedIOException.class, () -> stops.stop(replica(1_000_000, true)));
        assertTrue(Thread.interrupted());
        assertEquals(List.of(0L, 0L), waits);
    }
}
