// SPDX-License-Identifier: Apache-2.0
// The numbers have the same names always, add up, and are said in a sentence without zeros.
package org.verbena.spark.metrics;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;

class NumbersTest {
    private static Map<String, Long> some() {
        Traffic traffic = new Traffic();
        traffic.count(Traffic.Path.HOST_SLAB, 20 << 20);
        traffic.count(Traffic.Path.NETTY, 700);
        traffic.count(Traffic.Path.SERVED, 30 << 10);
        traffic.countFallback(Traffic.Reason.DOWN, 3);
        return Numbers.collect(traffic, null, Map.of("rx.bad_frames", 2L, "am.small", 9L));
    }

    @Test
    void namesAreTheSameWithAndWithoutAnEngine() {
        assertEquals(List.copyOf(Numbers.collect(null, null, Map.of()).keySet()), List.copyOf(some().keySet()));
    }

    @Test
    void executorsAddUp() {
        Map<String, Long> sum = Numbers.sum(List.of(some(), some()));
        assertEquals(40L << 20, sum.get("host_slab.bytes"));
        assertEquals(2, sum.get("netty.blocks"));
        assertEquals(6, sum.get("fallback.down.blocks"));
        assertEquals(4, sum.get("rx.bad_frames"));
    }

    @Test
    void theSentenceNamesEveryPathReasonAndDroppedFrame() {
        String text = Numbers.sentence(some());
        assertTrue(text.contains("20 MiB from mapped memory of neighbours (1 block)"), text);
        assertTrue(text.contains("700 B by Spark's transport (1 block)"), text);
        assertTrue(text.contains("left to Spark's transport 3 blocks connection failed"), text);
        assertTrue(text.contains("sent 30 KiB to others"), text);
        assertTrue(text.contains("rx.bad_frames 2"), text);
        assertFalse(text.contains("TCP"), text);
    }

    @Test
    void nothingIsSaidInFewWords() {
        String text = Numbers.sentence(Numbers.collect(null, null, Map.of()));
        assertTrue(text.endsWith("read no blocks"), text);
    }

    @Test
    void aPeersPathIsThatOfItsTransport() {
        assertEquals(Traffic.Path.SHM, Traffic.Path.ofTransport("shm"));
        assertEquals(Traffic.Path.RDMA, Traffic.Path.ofTransport("rc"));
        assertEquals(Traffic.Path.RDMA, Traffic.Path.ofTransport("ud"));
        assertEquals(Traffic.Path.TCP, Traffic.Path.ofTransport("tcp"));
    }

    @Test
    void theLastLineSaysWhenNobodyUsedVerbena() {
        ExecutorReports reports = new ExecutorReports();
        assertNull(reports.summary());
        reports.take(Map.entry("1", ExecutorReports.ASIDE + "no device"));
        assertEquals("Verbena was not used: no device", reports.summary());
        reports.take(Map.entry("2", "map outputs in memory"));
        assertTrue(reports.summary().startsWith("Verbena, all 2 executors together: wrote 0"), reports.summary());
        assertTrue(reports.summary().endsWith("; 1 stood aside: no device"), reports.summary());
    }
}
