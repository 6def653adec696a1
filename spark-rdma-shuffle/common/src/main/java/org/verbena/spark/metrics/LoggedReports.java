// SPDX-License-Identifier: Apache-2.0
// What the driver knows of its executors as one event of the event log, from which the history server makes the tab.
package org.verbena.spark.metrics;

import java.util.AbstractMap.SimpleEntry;
import java.util.LinkedHashMap;
import java.util.Map;
import org.apache.spark.scheduler.SparkListenerEvent;

/** Jackson writes and reads it, and the history server's store: public fields of classes of the JDK. Written once. */
public final class LoggedReports implements SparkListenerEvent {
    /** Why the plugin stood aside in the whole application; null when it did not. */
    public String declined;
    /** What each executor chose, in a sentence. */
    public Map<String, String> choices = new LinkedHashMap<>();
    /** The numbers of each executor, by {@link Numbers}' names. */
    public Map<String, Map<String, Long>> numbers = new LinkedHashMap<>();

    /** For Jackson. */
    public LoggedReports() {
    }

    /**
     * What is known now.
     *
     * @param declined null when the plugin does not stand aside
     */
    public LoggedReports(String declined, ExecutorReports reports) {
        this.declined = declined;
        for (ExecutorReports.Report report : reports.all()) {
            choices.put(report.executor(), report.choice());
            numbers.put(report.executor(), new LinkedHashMap<>(report.numbers()));
        }
    }

    /** The reports again; numbers that this version does not know are left out. */
    public ExecutorReports restored() {
        ExecutorReports reports = new ExecutorReports();
        choices.forEach((executor, choice) -> reports.take(new SimpleEntry<>(executor, choice)));
        numbers.forEach((executor, values) -> reports.take(new SimpleEntry<>(executor, values)));
        return reports;
    }
}
