// SPDX-License-Identifier: Apache-2.0
// What the driver knows of its executors, also of those that are gone.
package org.verbena.spark.metrics;

import java.util.List;
import java.util.Map;
import java.util.TreeMap;

/** Takes what {@link Reporter} sends. Thread safe. */
public final class ExecutorReports {
    /**
     * One executor.
     *
     * @param choice what it uses and why, in a sentence; empty while it has not said so
     * @param numbers as {@link Numbers#collect} names them
     */
    public record Report(String executor, String choice, Map<String, Long> numbers) {
    }

    /** What the choice of an executor begins with that does not use Verbena; the reason follows. */
    public static final String ASIDE = "stands aside: ";

    private final TreeMap<String, Report> executors = new TreeMap<>(ExecutorReports::byNumber);

    /** Nothing known. */
    public ExecutorReports() {
    }

    private static int byNumber(String one, String other) {
        return one.length() != other.length() ? Integer.compare(one.length(), other.length()) : one.compareTo(other);
    }

    /** Takes a message of a plugin; what is not one of ours is left alone. */
    public synchronized void take(Object message) {
        if (message instanceof Map.Entry<?, ?> entry && entry.getKey() instanceof String executor) {
            Report known = executors.getOrDefault(executor, new Report(executor, "", Numbers.none()));
            if (entry.getValue() instanceof String choice) {
                executors.put(executor, new Report(executor, choice, known.numbers()));
            } else if (entry.getValue() instanceof Map<?, ?> told) {
                Map<String, Long> numbers = Numbers.none();
                numbers.replaceAll((name, zero) -> told.get(name) instanceof Long value ? value : zero);
                executors.put(executor, new Report(executor, known.choice(), numbers));
            }
        }
    }

    /** All executors, in the order of their numbers. */
    public synchronized List<Report> all() {
        return List.copyOf(executors.values());
    }

    /** The numbers of all executors together. */
    public Map<String, Long> sum() {
        return Numbers.sum(all().stream().map(Report::numbers).toList());
    }

    /** One of the numbers of {@link #sum}; metrics ask for each of them alone. */
    public synchronized long sum(String name) {
        return executors.values().stream().map(report -> report.numbers().get(name)).reduce(0L, Numbers.combining(name));
    }

    /** How many executors are known, also those that are gone. */
    public synchronized int count() {
        return executors.size();
    }

    /** What the application had of Verbena, in a sentence; null while no executor has told anything. */
    public String summary() {
        List<Report> known = all();
        if (known.isEmpty()) {
            return null;
        }
        List<Report> aside = known.stream().filter(report -> report.choice().startsWith(ASIDE)).toList();
        if (aside.size() == known.size()) {
            return "Verbena was not used: " + aside.get(0).choice().substring(ASIDE.length());
        }
        return "Verbena, all " + known.size() + " executors together: " + Numbers.sentence(sum())
            + (aside.isEmpty() ? "" : "; " + aside.size() + " stood aside: " + aside.get(0).choice().substring(ASIDE.length()));
    }
}
