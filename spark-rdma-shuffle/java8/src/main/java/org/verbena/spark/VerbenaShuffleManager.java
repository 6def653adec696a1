// SPDX-License-Identifier: Apache-2.0
// What an older Java than 17 finds behind spark.shuffle.manager.
package org.verbena.spark;

import org.apache.spark.SparkConf;
import org.apache.spark.shuffle.sort.SortShuffleManager;
import org.slf4j.LoggerFactory;

/** Spark's own shuffle, unless the driver uses Verbena. */
public class VerbenaShuffleManager extends SortShuffleManager {
    // As DriverSetup on Java 17 sets them.
    private static final String PREPARED = "spark.verbena.internal.prepared";
    private static final String DECLINED = "spark.verbena.internal.declined";

    /** Called by Spark. */
    public VerbenaShuffleManager(SparkConf conf, boolean isDriver) {
        super(checked(conf, isDriver));
        TooOld.say();
    }

    /** Other executors write what only Verbena's classes read, and read what only they write: no task may run here then. */
    static SparkConf checked(SparkConf conf, boolean isDriver) {
        if (!isDriver && conf.contains(PREPARED) && !conf.contains(DECLINED)) {
            String reason = "Verbena refuses this executor: " + TooOld.reason()
                + ", and the driver uses Verbena; give all executors Java 17, or set spark.verbena.enabled=false";
            LoggerFactory.getLogger(VerbenaShuffleManager.class).error(reason); // Spark says no more than that something failed
            throw new IllegalStateException(reason);
        }
        return conf;
    }
}
