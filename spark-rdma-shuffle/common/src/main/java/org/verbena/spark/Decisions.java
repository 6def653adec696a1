// SPDX-License-Identifier: Apache-2.0
// What Verbena has written into a Spark configuration, so that another application does not inherit it.
package org.verbena.spark;

import java.util.ArrayList;
import java.util.List;
import org.apache.spark.SparkConf;
import org.verbena.spark.settings.VerbenaConf;
import scala.Tuple2;

/**
 * Programs take a configuration out of a context ({@code sc.getConf}), or a checkpoint, and start the next context with it. What
 * was decided for the first one would go on for the second: that Verbena stands aside, keys, addresses, Spark's own settings.
 * Therefore each value that replaces one of the user's is noted beside it, and taken back when the start time is another one.
 */
final class Decisions {
    private static final String PREPARED = VerbenaConf.INTERNAL + "prepared";
    /** What was set, by key. */
    private static final String OURS = VerbenaConf.INTERNAL + "set.";
    /** What the user had there, by key; nothing where there was nothing. */
    private static final String USERS = VerbenaConf.INTERNAL + "before.";

    private Decisions() {
    }

    /** Tells contexts apart; Spark sets it before it makes an environment. */
    private static String application(SparkConf conf) {
        return conf.get("spark.app.startTime", "first");
    }

    /**
     * Begins to decide, unless that has been done for this application.
     *
     * @return false when it has
     */
    static boolean begin(SparkConf conf) {
        if (application(conf).equals(conf.get(PREPARED, null))) {
            return false;
        }
        beginAgain(conf);
        return true;
    }

    /** Takes back what has been decided for this application, too. */
    static void beginAgain(SparkConf conf) {
        takeBack(conf);
        conf.set(PREPARED, application(conf));
    }

    /** Sets a key of Spark's. */
    static void set(SparkConf conf, String key, String value) {
        if (conf.contains(key) && !conf.contains(OURS + key)) {
            conf.set(USERS + key, conf.get(key));
        }
        conf.set(OURS + key, value);
        conf.set(key, value);
    }

    /** Restores what the user had, where that has not been changed since, and forgets all decisions. */
    private static void takeBack(SparkConf conf) {
        List<String> internal = new ArrayList<>();
        for (Tuple2<String, String> entry : conf.getAll()) {
            if (entry._1().startsWith(VerbenaConf.INTERNAL)) {
                internal.add(entry._1());
            }
        }
        for (String name : internal) {
            if (name.startsWith(OURS)) {
                restore(conf, name.substring(OURS.length()), conf.get(name));
            }
        }
        internal.forEach(conf::remove);
    }

    private static void restore(SparkConf conf, String key, String ours) {
        if (!ours.equals(conf.get(key, null))) {
            return; // the user's again
        }
        if (conf.contains(USERS + key)) {
            conf.set(key, conf.get(USERS + key));
        } else {
            conf.remove(key);
        }
    }
}
