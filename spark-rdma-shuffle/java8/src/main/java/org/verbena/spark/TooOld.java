// SPDX-License-Identifier: Apache-2.0
// The line by which users of an old Java learn why nothing is faster, or why an executor ends.
package org.verbena.spark;

import org.apache.spark.SparkConf;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Says it in the log. */
final class TooOld {
    private static final Logger LOG = LoggerFactory.getLogger(TooOld.class);
    // As DriverSetup on Java 17 sets them.
    private static final String PREPARED = "spark.verbena.internal.prepared";
    private static final String DECLINED = "spark.verbena.internal.declined";

    private TooOld() {
    }

    static String reason() {
        return "it needs Java 17, and this is Java " + System.getProperty("java.version");
    }

    static void say() {
        LOG.warn("Verbena stands aside, Spark's own shuffle is used: {}", reason());
    }

    /**
     * An executor's configuration; throws where its driver uses Verbena: other executors write what only Verbena's classes
     * read, and read what only they write.
     */
    static SparkConf checked(SparkConf conf) {
        if (conf.contains(PREPARED) && !conf.contains(DECLINED)) {
            String refusal = "Verbena refuses this executor: " + reason()
                + ", and the driver uses Verbena; give all executors Java 17, or set spark.verbena.enabled=false";
            LOG.error(refusal); // Spark says no more than that something failed
            throw new IllegalStateException(refusal);
        }
        return conf;
    }
}
