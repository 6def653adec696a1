// SPDX-License-Identifier: Apache-2.0
// The numbers have the same names always, add up, and are said in a sentence without zeros.
package org.verbena.spark.metrics;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Test;

class NumbersTest {
    private static Map<String, Long> some() {
        Traffic traffic = new Traffic();
        traffic.count(Traffic.Path.HOST_SLAB, 20 << 20);
        traffic.count(Traffic.Path.NETTY, 700);
        traffic.count(Traffic.Path.SERVED, 30 << 10);
        traffic.countFallback(Traffic.Reason.DOWN, 3);
        for (int i = 0; i < 99; i++) {
            traffic.fetches().completed(100_000);
        }
        traffic.fetches().completed(50_000_000);
        traffic.fetches().timedOut();
        return Numbers.collect(traffic, null, new Load(5, 9, 2), Map.of("rx.bad_frames", 2L, "am.small", 9L));
    }

    @Test
    void namesAreTheSameWithAndWithoutAnEngine() {
        assertEquals(List.copyOf(Numbers.collect(null, null, Load.NONE, Map.of()).keySet()), List.copyOf(some().keySet()));
    }

    @Test
    void executorsAddUp() {
        Map<String, Long> sum = Numbers.sum(List.of(some(), some()));
        assertEquals(40L << 20, sum.get("host_slab.bytes"));
        assertEquals(2, sum.get("netty.blocks"));
        assertEquals(6, sum.get("fallback.down.blocks"));
        assertEquals(4, sum.get("rx.bad_frames"));
        assertEquals(10, sum.get("direct.used.bytes"));
        assertEquals(4, sum.get("serve.waiting"));
        assertEquals(200, sum.get("fetch.requests"));
        assertEquals(2, sum.get("fetch.timeouts"));
    }

    @Test
    void ofTimesTheLongestOneCountsAndNotTheSum() {
        long median = some().get("fetch.median.micros");
        assertEquals(median, Numbers.sum(List.of(some(), some(), Numbers.none())).get("fetch.median.micros"));
        ExecutorReports reports = new ExecutorReports();
        reports.take(Map.entry("1", some()));
        reports.take(Map.entry("2", Numbers.none()));
        reports.take(Map.entry("3", some()));
        assertEquals(median, reports.sum("fetch.median.micros"));
        assertEquals(200, reports.sum("fetch.requests"));
    }

    @Test
    void theTimeOfMostRequestsIsToldAtMostAQuarterTooLong() {
        assertEquals(0, new Fetches().micros(50));
        for (long micros : new long[] {1, 2, 3, 4, 5, 7, 8, 100, 127, 128, 999, 1_000_000, 86_400_000_000L}) {
            Fetches one = new Fetches();
            one.completed(micros * 1000);
            long told = one.micros(99);
            assertTrue(told > micros && told <= Math.max(micros + 1, micros * 5 / 4 + 1), micros + " " + told);
        }
        assertEquals(112, some().get("fetch.median.micros"));
        assertEquals(112, some().get("fetch.p99.micros"));
        Traffic slow = new Traffic();
        slow.fetches().completed(100_000);
        slow.fetches().completed(50_000_000);
        assertEquals(112, slow.fetches().micros(50));
        assertTrue(slow.fetches().micros(99) > 50_000, "the slower one");
    }

    @Test
    void theSentenceNamesEveryPathReasonAndDroppedFrame() {
        String text = Numbers.sentence(some());
        assertTrue(text.contains("20 MiB from mapped memory of neighbours (1 block)"), text);
        assertTrue(text.contains("700 B by Spark's transport (1 block)"), text);
        assertTrue(text.contains("left to Spark's transport 3 blocks connection failed"), text);
        assertTrue(text.contains("sent 30 KiB to others"), text);
        assertTrue(text.contains("rx.bad_frames 2"), text);
        assertTrue(text.contains("gave up 1 requests without an answer"), text);
        assertFalse(text.contains("TCP"), text);
    }

    @Test
    void theDashboardAsksForNumbersThatThereAre() throws IOException {
        String dashboard = Files.readString(Path.of(System.getProperty("basedir", "."), "..", "..", "docs", "spark-grafana.json"));
        Set<String> known = Numbers.none().keySet().stream().map(name -> name.replace('.', '_')).collect(Collectors.toSet());
        Matcher asked = Pattern.compile("VerbenaPlugin_executors_(\\w+)_Value").matcher(dashboard);
        int count = 0;
        for (; asked.find(); count++) {
            assertTrue(known.contains(asked.group(1)), asked.group(1));
        }
        assertTrue(count > 20, count + " numbers");
    }

    @Test
    void nothingIsSaidInFewWords() {
        String text = Numbers.sentence(Numbers.collect(null, null, Load.NONE, Map.of()));
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
