// SPDX-License-Identifier: Apache-2.0
// Hands the properties under test to suites whose SparkConf does not read system properties.
package org.verbena.spark.conformance;

import org.apache.spark.SparkConf;

/** Copies every system property "conformance.spark.X" as "spark.X" into a suite's configuration. */
final class SuiteSettings {
    private static final String PREFIX = "conformance.";

    private SuiteSettings() {
    }

    static void apply(SparkConf conf) {
        for (String name : System.getProperties().stringPropertyNames()) {
            if (name.startsWith(PREFIX)) {
                conf.set(name.substring(PREFIX.length()), System.getProperty(name));
            }
        }
    }
}
