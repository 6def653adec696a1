// SPDX-License-Identifier: Apache-2.0
// An executor of an older Java than its driver's.
package org.verbena.spark;

import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.apache.spark.SparkConf;
import org.junit.jupiter.api.Test;

class OldExecutorTest {
    private static SparkConf conf(String... internals) {
        SparkConf conf = new SparkConf(false);
        for (String internal : internals) {
            conf.set("spark.verbena.internal." + internal, "true");
        }
        return conf;
    }

    @Test
    void itIsRefusedWhereTheDriverUsesVerbena() {
        String said = assertThrows(IllegalStateException.class,
            () -> new VerbenaShuffleManager(conf("prepared"), false)).getMessage();
        assertTrue(said.contains("this is Java " + System.getProperty("java.version")), said);
        assertTrue(said.contains("give all executors Java 17"), said);
    }

    @Test
    void itUsesSparksShuffleWhereTheDriverDoes() {
        for (SparkConf conf : new SparkConf[] {conf(), conf("prepared", "declined")}) {
            assertSame(conf, TooOld.checked(conf));
        }
    }
}
