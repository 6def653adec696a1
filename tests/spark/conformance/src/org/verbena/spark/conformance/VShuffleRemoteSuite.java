// SPDX-License-Identifier: Apache-2.0
// Apache Spark's ShuffleSuite with every block of another executor read by network.
package org.verbena.spark.conformance;

import org.apache.spark.ShuffleNettySuite;

/** Found and run by ScalaTest. */
public class VShuffleRemoteSuite extends ShuffleNettySuite {
    @Override
    public void beforeAll() {
        super.beforeAll();
        SuiteSettings.apply(conf());
        conf().set("spark.shuffle.readHostLocalDisk", "false");
    }
}
