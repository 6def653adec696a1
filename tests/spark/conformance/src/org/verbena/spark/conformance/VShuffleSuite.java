// SPDX-License-Identifier: Apache-2.0
// Apache Spark's ShuffleSuite with the properties under test; blocks of the same host are read from mapped memory.
package org.verbena.spark.conformance;

import org.apache.spark.ShuffleNettySuite;

/** Found and run by ScalaTest. */
public class VShuffleSuite extends ShuffleNettySuite {
    @Override
    public void beforeAll() {
        super.beforeAll();
        SuiteSettings.apply(conf());
        // local-cluster, which some of the tests use, switches it off unless it is set.
        conf().set("spark.shuffle.readHostLocalDisk", "true");
    }
}
