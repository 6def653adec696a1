// SPDX-License-Identifier: Apache-2.0
// Apache Spark's SortingSuite with the properties under test.
package org.verbena.spark.conformance;

import org.apache.spark.rdd.SortingSuite;

/** Found and run by ScalaTest. Spark's suite starts its context with the configuration of this object. */
public class VSortingSuite extends SortingSuite {
    /** Called by ScalaTest. */
    public VSortingSuite() {
        SuiteSettings.apply(conf());
    }
}
