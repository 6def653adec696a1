// SPDX-License-Identifier: Apache-2.0
// What an older Java than 17 finds behind spark.shuffle.manager.
package org.verbena.spark;

import org.apache.spark.SparkConf;
import org.apache.spark.shuffle.sort.SortShuffleManager;

/** Spark's own shuffle, unless the driver uses Verbena. */
public class VerbenaShuffleManager extends SortShuffleManager {
    /** Called by Spark. */
    public VerbenaShuffleManager(SparkConf conf, boolean isDriver) {
        super(isDriver ? conf : TooOld.checked(conf));
        TooOld.say();
    }
}
