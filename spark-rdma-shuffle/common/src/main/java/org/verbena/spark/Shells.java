// SPDX-License-Identifier: Apache-2.0
// Spark's shells show warnings only: one line of ours among those by which they greet.
package org.verbena.spark;

import java.io.PrintStream;
import java.util.List;

/** spark-shell, pyspark and spark-sql. */
final class Shells {
    private static final List<String> CLASSES = List.of("org.apache.spark.repl.Main", "pyspark-shell",
        "org.apache.spark.sql.hive.thriftserver.SparkSQLCLIDriver");

    private Shells() {
    }

    /** Says in a shell that Verbena is used. That it stands aside is a warning, which shells show. */
    static void greet(String declined) {
        greet(declined, System.getProperty("sun.java.command", ""), System.err);
    }

    /**
     * For tests.
     *
     * @param command class and arguments of the JVM
     */
    static void greet(String declined, String command, PrintStream out) {
        if (declined == null && CLASSES.stream().anyMatch(command::contains)) {
            out.println("Verbena " + Build.VERSION + " keeps map outputs in the executors' memory; the tab Verbena of "
                + "Spark's UI tells more, spark.verbena.enabled=false switches Verbena off");
        }
    }
}
