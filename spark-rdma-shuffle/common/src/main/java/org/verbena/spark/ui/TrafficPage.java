// SPDX-License-Identifier: Apache-2.0
// The page of Spark's UI: bytes by path, reasons of fall-backs and what each executor chose, as HTML.
package org.verbena.spark.ui;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.verbena.spark.metrics.ExecutorReports;
import org.verbena.spark.metrics.Numbers;
import org.verbena.spark.metrics.Traffic;

/** Uses Spark's style sheet; knows no class of Spark's UI, which differs between versions. */
public final class TrafficPage {
    private static final String TABLE = "<table class=\"table table-bordered table-sm table-striped sortable\">";

    private final StringBuilder html = new StringBuilder();

    private TrafficPage() {
    }

    /**
     * Writes the page.
     *
     * @param declined why the plugin stands aside in the whole application; null when it does not
     */
    public static String html(String declined, ExecutorReports executors) {
        TrafficPage page = new TrafficPage();
        if (declined != null) {
            page.text("p", "Verbena stands aside, Spark's own shuffle is used: " + declined);
        } else if (executors.all().isEmpty()) {
            page.text("p", "No executor has ended a task yet.");
        } else {
            page.text("p", "All executors together: " + Numbers.sentence(executors.sum()) + ".");
            page.paths(executors);
            page.reasons(executors);
            page.work(executors);
            page.choices(executors.all());
        }
        return page.html.toString();
    }

    private void paths(ExecutorReports executors) {
        text("h4", "Bytes by path");
        List<String> titles = new ArrayList<>(List.of("Executor"));
        for (Traffic.Path path : Traffic.Path.values()) {
            titles.add(path == Traffic.Path.SERVED ? "Sent " + path.text() : "Read " + path.text());
        }
        titles.addAll(List.of("Map outputs in memory", "Slabs in use", "Slabs reserved", "Spilled to disk", "Peers"));
        head(titles);
        executors.all().forEach(report -> pathRow(report.executor(), report.numbers()));
        pathRow("all", executors.sum());
        html.append("</table>");
    }

    private void pathRow(String executor, Map<String, Long> numbers) {
        html.append("<tr>");
        text("td", executor);
        for (Traffic.Path path : Traffic.Path.values()) {
            long blocks = numbers.get(Numbers.name(path, ".blocks"));
            long bytes = numbers.get(Numbers.name(path, ".bytes"));
            cell(bytes, blocks == 0 ? "" : Numbers.size(bytes) + " (" + Numbers.blocks(blocks) + ")");
        }
        for (String name : List.of("slab.written.bytes", "slab.used.bytes", "slab.reserved.bytes", "spilled.bytes")) {
            cell(numbers.get(name), Numbers.size(numbers.get(name)));
        }
        cell(numbers.get("peers.connected"), numbers.get("peers.connected").toString());
        html.append("</tr>");
    }

    private void reasons(ExecutorReports executors) {
        text("h4", "Blocks left to Spark's transport");
        List<String> titles = new ArrayList<>(List.of("Executor"));
        for (Traffic.Reason reason : Traffic.Reason.values()) {
            titles.add(reason.text());
        }
        head(titles);
        executors.all().forEach(report -> reasonRow(report.executor(), report.numbers()));
        reasonRow("all", executors.sum());
        html.append("</table>");
    }

    private void reasonRow(String executor, Map<String, Long> numbers) {
        html.append("<tr>");
        text("td", executor);
        for (Traffic.Reason reason : Traffic.Reason.values()) {
            long blocks = numbers.get(Numbers.name(reason));
            cell(blocks, Long.toString(blocks));
        }
        html.append("</tr>");
    }

    private void work(ExecutorReports executors) {
        text("h4", "Requests and memory");
        head(List.of("Executor", "Requests", "Median", "99th percentile", "Time-outs", "Requests that wait", "Direct memory in use",
            "of", "Map outputs being read", "Outputs spilled"));
        executors.all().forEach(report -> workRow(report.executor(), report.numbers()));
        workRow("all", executors.sum());
        html.append("</table>");
    }

    private void workRow(String executor, Map<String, Long> numbers) {
        html.append("<tr>");
        text("td", executor);
        count(numbers, "fetch.requests");
        for (String name : List.of("fetch.median.micros", "fetch.p99.micros")) {
            cell(numbers.get(name), numbers.get(name) + " &#181;s");
        }
        count(numbers, "fetch.timeouts");
        count(numbers, "serve.waiting");
        for (String name : List.of("direct.used.bytes", "direct.bound.bytes", "slab.pinned.bytes")) {
            cell(numbers.get(name), Numbers.size(numbers.get(name)));
        }
        count(numbers, "spilled.outputs");
        html.append("</tr>");
    }

    private void count(Map<String, Long> numbers, String name) {
        cell(numbers.get(name), numbers.get(name).toString());
    }

    private void choices(List<ExecutorReports.Report> executors) {
        text("h4", "Choice of each executor");
        head(List.of("Executor", "Choice"));
        for (ExecutorReports.Report report : executors) {
            html.append("<tr>");
            text("td", report.executor());
            text("td", report.choice());
            html.append("</tr>");
        }
        html.append("</table>");
    }

    private void head(List<String> titles) {
        html.append(TABLE).append("<thead><tr>");
        titles.forEach(title -> text("th", title));
        html.append("</tr></thead>");
    }

    /** A number that Spark's script sorts by its value, not its text. */
    private void cell(long value, String shown) {
        html.append("<td sorttable_customkey=\"").append(value).append("\">").append(shown).append("</td>");
    }

    private void text(String element, String text) {
        html.append('<').append(element).append('>').append(escaped(text)).append("</").append(element).append('>');
    }

    private static String escaped(String text) {
        return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;").replace("\"", "&quot;");
    }
}
