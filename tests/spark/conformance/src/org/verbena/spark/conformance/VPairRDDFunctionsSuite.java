// SPDX-License-Identifier: Apache-2.0
// Apache Spark's PairRDDFunctionsSuite with the properties under test.
package org.verbena.spark.conformance;

import org.apache.spark.rdd.PairRDDFunctionsSuite;

/** Found and run by ScalaTest. Spark's suite starts its context with the configuration of this object. */
public class VPairRDDFunctionsSuite extends PairRDDFunctionsSuite {
    /** Called by ScalaTest. */
    public VPairRDDFunctionsSuite() {
        SuiteSettings.apply(conf());
    }
}
