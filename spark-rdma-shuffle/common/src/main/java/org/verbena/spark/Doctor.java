// SPDX-License-Identifier: Apache-2.0
// spark-submit --class org.verbena.spark.Doctor JAR [--executors]: can Verbena work here, and which lines switch it on?
package org.verbena.spark;

import java.io.PrintStream;
import java.net.InetAddress;
import java.net.UnknownHostException;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.stream.IntStream;
import org.apache.spark.SparkConf;
import org.apache.spark.SparkEnv;
import org.apache.spark.api.java.JavaSparkContext;
import org.verbena.core.plugin.Finding;
import org.verbena.spark.compat.SparkShim;
import org.verbena.spark.settings.VerbenaConf;
import scala.Tuple2;

/** Looks at the driver's host, and with --executors at every executor that the application gets. */
public final class Doctor {
    private static final int TASKS_PER_CORE = 8;

    private Doctor() {
    }

    /** Prints the report; the exit status is 1 when something is in the way. */
    public static void main(String[] arguments) {
        List<String> words = List.of(arguments);
        if (!words.isEmpty() && !words.equals(List.of("--executors"))) {
            System.err.println("usage: spark-submit --class " + Doctor.class.getName() + " JAR [--executors]");
            System.exit(2);
        }
        boolean good = report(new SparkConf(), !words.isEmpty(), System.out);
        System.exit(good ? 0 : 1);
    }

    /**
     * Writes the report.
     *
     * @param executors starts an application to look at its executors as well
     * @return false when something is in the way
     */
    public static boolean report(SparkConf conf, boolean executors, PrintStream out) {
        List<Finding> here = HostCheck.run(conf);
        boolean good = print("the driver on " + host(), here, out);
        String reason = good ? DriverSetup.reasonToDecline(conf, new VerbenaConf(conf), true) : null;
        if (reason != null) {
            good = print("this configuration", List.of(new Finding(Finding.Level.BAD,
                "Verbena will stand aside: " + reason)), out);
        }
        if (executors && good) {
            for (Map.Entry<String, List<Finding>> one : ofExecutors(conf).entrySet()) {
                good &= print(one.getKey(), one.getValue(), out);
            }
        }
        out.println("for conf/spark-defaults.conf:");
        defaults(SparkShim.sparkVersion(), HostCheck.jar()).forEach(line -> out.println("  " + line));
        return good;
    }

    private static boolean print(String who, List<Finding> findings, PrintStream out) {
        out.println(who + ":");
        findings.forEach(out::println);
        return findings.stream().noneMatch(finding -> finding.level() == Finding.Level.BAD);
    }

    private static Map<String, List<Finding>> ofExecutors(SparkConf conf) {
        try (JavaSparkContext context = new JavaSparkContext(conf.setAppName("Verbena doctor"))) {
            int tasks = context.defaultParallelism() * TASKS_PER_CORE;
            List<Integer> numbers = IntStream.range(0, tasks).boxed().toList();
            return new TreeMap<>(context.parallelize(numbers, tasks).mapToPair(task -> new Tuple2<>(
                ShuffleEngine.name(SparkEnv.get()) + " on " + host(), HostCheck.run(SparkEnv.get().conf())))
                .collectAsMap());
        }
    }

    private static String host() {
        try {
            return InetAddress.getLocalHost().getHostName();
        } catch (UnknownHostException e) {
            return "this host"; // without a name that resolves, Spark would not start either
        }
    }

    /** The lines that switch Verbena on; 3.5 makes its shuffle manager before it fetches jars. */
    public static List<String> defaults(String version, String jar) {
        String plugin = "spark.plugins " + VerbenaPlugin.class.getName();
        return version.startsWith("3.") ? List.of("spark.driver.extraClassPath " + jar,
            "spark.executor.extraClassPath " + jar, plugin, "spark.shuffle.manager " + VerbenaShuffleManager.class.getName())
            : List.of("spark.jars " + jar, plugin);
    }
}
