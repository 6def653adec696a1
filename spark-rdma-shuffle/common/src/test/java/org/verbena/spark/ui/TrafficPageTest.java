// SPDX-License-Identifier: Apache-2.0
package org.verbena.spark.ui;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.StringReader;
import java.util.Map;
import javax.xml.parsers.DocumentBuilderFactory;
import org.junit.jupiter.api.Test;
import org.verbena.spark.metrics.ExecutorReports;
import org.w3c.dom.Document;
import org.w3c.dom.NodeList;
import org.xml.sax.InputSource;

class TrafficPageTest {
    private final ExecutorReports executors = new ExecutorReports();

    private Document page(String declined) throws Exception {
        String html = "<page>" + TrafficPage.html(declined, executors) + "</page>";
        return DocumentBuilderFactory.newInstance().newDocumentBuilder().parse(new InputSource(new StringReader(html)));
    }

    private static String cell(Document page, int table, int row, int column) {
        NodeList rows = ((org.w3c.dom.Element) page.getElementsByTagName("table").item(table)).getElementsByTagName("tr");
        return rows.item(row).getChildNodes().item(column).getTextContent();
    }

    @Test
    void everyExecutorHasARowAndTheLastOneAddsThemUp() throws Exception {
        executors.take(Map.entry("10", Map.of("shm.bytes", 3000L, "shm.blocks", 2L, "fallback.down.blocks", 5L)));
        executors.take(Map.entry("9", Map.of("shm.bytes", 4000L, "shm.blocks", 1L, "a later version's", 7L)));
        Document page = page(null);
        assertEquals("Read by shared-memory messages", cell(page, 0, 0, 3));
        assertEquals("9", cell(page, 0, 1, 0));
        assertEquals("4000 B (1 block)", cell(page, 0, 1, 3));
        assertEquals("10", cell(page, 0, 2, 0));
        assertEquals("7000 B (3 blocks)", cell(page, 0, 3, 3));
        assertEquals("connection failed", cell(page, 1, 0, 3));
        assertEquals("5", cell(page, 1, 3, 3));
    }

    @Test
    void timesOfRequestsAreShownAndTheLongestOfAll() throws Exception {
        executors.take(Map.entry("1", Map.of("fetch.p99.micros", 700L, "serve.waiting", 2L)));
        executors.take(Map.entry("2", Map.of("fetch.p99.micros", 900L, "serve.waiting", 3L)));
        Document page = page(null);
        assertEquals("99th percentile", cell(page, 2, 0, 3));
        assertEquals("700 \u00b5s", cell(page, 2, 1, 3));
        assertEquals("900 \u00b5s", cell(page, 2, 3, 3));
        assertEquals("5", cell(page, 2, 3, 5));
    }

    @Test
    void whatAnExecutorSaysIsTextAndNotMarkup() throws Exception {
        executors.take(Map.entry("<b>", "memory & \"net\" <script>alert(1)</script>"));
        Document page = page(null);
        assertEquals(0, page.getElementsByTagName("script").getLength());
        assertEquals("<b>", cell(page, 3, 1, 0));
        assertEquals("memory & \"net\" <script>alert(1)</script>", cell(page, 3, 1, 1));
    }

    @Test
    void laterNumbersReplaceEarlierOnesAndKeepTheChoice() {
        executors.take(Map.entry("1", "by shm"));
        executors.take(Map.entry("1", Map.of("tcp.bytes", 1L)));
        executors.take(Map.entry("1", Map.of("tcp.bytes", 2L, "tcp.blocks", "many")));
        assertEquals(2, executors.sum().get("tcp.bytes"));
        assertEquals("by shm", executors.all().get(0).choice());
    }

    @Test
    void messagesOfOtherPluginsAreLeftAlone() {
        executors.take("hello");
        executors.take(null);
        executors.take(Map.entry(1, Map.of("tcp.bytes", 2L)));
        executors.take(Map.entry("1", 5));
        assertTrue(executors.all().isEmpty());
    }

    @Test
    void anApplicationWithoutVerbenaSaysWhy() throws Exception {
        String text = page("push-based shuffle (spark.shuffle.push.enabled) needs Spark's files").getDocumentElement()
            .getTextContent();
        assertTrue(text.contains("stands aside") && text.contains("push-based"), text);
        assertFalse(text.contains("No executor"), text);
    }
}
