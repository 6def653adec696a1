// SPDX-License-Identifier: Apache-2.0
// Which Spark versions get which shim.
package org.verbena.spark;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;

import org.junit.jupiter.api.Test;

class SparkShimTest {
    @Test
    void everyPatchReleaseOfAKnownLineHasAShim() {
        assertEquals("35", SparkShim.line("3.5.9", "2.12.18"));
        assertEquals("40", SparkShim.line("3.5.9", "2.13.8"));
        assertEquals("40", SparkShim.line("4.0.5", "2.13.16"));
        assertEquals("42", SparkShim.line("4.1.4", "2.13.17"));
        assertEquals("42", SparkShim.line("4.2.10-SNAPSHOT", "2.13.18"));
        assertEquals("43", SparkShim.line("4.3.0", "2.13.18"));
    }

    @Test
    void olderNewerAndStrangeVersionsHaveNone() {
        for (String version : new String[] {"3.4.4", "3.50.1", "4.4.0", "4.20.0", "5.0.0", "4.2", "4", "", "x.y.z"}) {
            assertNull(SparkShim.line(version, "2.13.18"), version);
        }
    }
}
