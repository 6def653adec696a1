// SPDX-License-Identifier: Apache-2.0
// Apache Spark's ShuffleSuite (all 20 tests, host-local reads on) with the properties under test.
package org.verbena.spark.conformance;

import org.apache.spark.ShuffleNettySuite;

/** Found and run by ScalaTest. */
public class VShuffleSuite extends ShuffleNettySuite {
    @Override
    public void beforeAll() {
        super.beforeAll();
        SuiteSettings.apply(conf());
    }
}
