// SPDX-License-Identifier: Apache-2.0
// What this host offers to an executor and what is in the way, found with the code that executors run.
package org.verbena.spark;

import java.io.IOException;
import java.util.List;
import org.apache.spark.SparkConf;
import org.apache.spark.SparkEnv;
import org.verbena.core.plugin.Finding;
import org.verbena.core.plugin.Finding.Level;
import org.verbena.core.plugin.HostReport;
import org.verbena.spark.compat.SparkShim;
import org.verbena.spark.settings.VerbenaConf;

/** Used by {@link Doctor}, on the driver's host and on executors'. */
final class HostCheck {
    private final SparkConf conf;
    private final HostReport report = new HostReport();

    private HostCheck(SparkConf conf) {
        this.conf = conf;
    }

    /** Looks at everything; never throws for what it finds. */
    static List<Finding> run(SparkConf conf) {
        HostCheck check = new HostCheck(conf);
        check.software();
        VerbenaConf settings = check.settings();
        if (settings != null && check.report.library(jar())) {
            check.memory(settings);
            check.report.transports(settings.core());
        }
        return check.report.findings();
    }

    private void software() {
        String what = "Spark " + SparkShim.sparkVersion() + ", Scala " + scala.util.Properties.versionNumberString()
            + ", Java " + Runtime.version() + " on " + System.getProperty("os.arch");
        if (SparkShim.load() == null) {
            report.add(Level.BAD, what + ": this Spark is not known, its own shuffle will be used (" + SparkShim.KNOWN + ")");
        } else {
            report.add(Level.OK, what);
        }
    }

    /** Null when they are wrong. */
    private VerbenaConf settings() {
        try {
            VerbenaConf settings = new VerbenaConf(conf);
            settings.checkCore();
            report.add(Level.OK, "settings: none of spark.verbena.* is wrong");
            return settings;
        } catch (IllegalArgumentException e) {
            report.add(Level.BAD, e.getMessage());
            return null;
        }
    }

    /** Where these classes come from. */
    static String jar() {
        return HostCheck.class.getProtectionDomain().getCodeSource().getLocation().getPath();
    }

    /** Whether this process is an executor of its own; else heap and container are the driver's, which say nothing. */
    private static boolean isExecutor() {
        return SparkEnv.get() != null && !SparkEnv.get().executorId().equals("driver");
    }

    private void memory(VerbenaConf settings) {
        try {
            SlabBudget budget = isExecutor() ? SlabBudget.here(conf, settings, ShuffleEngine.ROOT)
                : SlabBudget.ofExecutors(conf, settings, ShuffleEngine.ROOT);
            if (DriverSetup.needsFiles(conf)) {
                report.add(Level.WARN, "map outputs are Spark's files: " + budget.why());
            } else if (budget.warning() != null) {
                report.add(budget.bytes() == 0 ? Level.BAD : Level.WARN, budget.warning());
            } else {
                report.add(Level.OK, "map outputs: at most " + (budget.bytes() >> 20) + " MiB per executor in "
                    + ShuffleEngine.ROOT + " (" + budget.why() + "); containers have to count them");
            }
        } catch (IOException e) {
            report.add(Level.BAD, "map outputs: " + e);
        }
    }
}
