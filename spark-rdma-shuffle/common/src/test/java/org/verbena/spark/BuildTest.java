// SPDX-License-Identifier: Apache-2.0
// Executors have the driver's build.
package org.verbena.spark;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.apache.spark.SparkConf;
import org.junit.jupiter.api.Test;

class BuildTest {
    @Test
    void theSameBuildIsTaken() {
        Build.check(new SparkConf(false).set(Build.KEY, Build.here()), Build.here());
        assertTrue(Build.here().startsWith(Build.VERSION));
    }

    @Test
    void anotherBuildIsRefusedAndBothAreNamed() {
        SparkConf conf = new SparkConf(false).set(Build.KEY, "0.1.0 of abc");
        String text = assertThrows(IllegalArgumentException.class, () -> Build.check(conf, "0.1.0 of def")).getMessage();
        assertTrue(text.startsWith("this executor has Verbena 0.1.0 of def, the driver has 0.1.0 of abc: give them the same jar"),
            text);
    }

    @Test
    void aDriverThatDoesNotSayItsBuildHasAnotherOne() {
        String text = assertThrows(IllegalArgumentException.class, () -> Build.check(new SparkConf(false), "1")).getMessage();
        assertEquals("this executor has Verbena 1, the driver has an earlier build", text.split(":")[0]);
    }
}
