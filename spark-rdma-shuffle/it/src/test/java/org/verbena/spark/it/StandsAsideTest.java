// SPDX-License-Identifier: Apache-2.0
// Where the plugin cannot serve, Spark's own shuffle does the work.
package org.verbena.spark.it;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;

import org.apache.spark.SparkEnv;
import org.apache.spark.shuffle.sort.SortShuffleManager;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.verbena.spark.VerbenaShuffleManager;

@Timeout(120)
class StandsAsideTest {
    private static final String[] REASONS = {"spark.verbena.enabled=false", "spark.shuffle.useOldFetchProtocol=true"};

    @Test
    void theShuffleIsSparksOwn() {
        for (String reason : REASONS) {
            try (Application application = new Application(reason)) {
                assertEquals(SortShuffleManager.class, SparkEnv.get().shuffleManager().getClass(), reason);
                assertEquals(10, application.pairs().groupByKey(3).count());
            }
        }
    }

    @Test
    void aManagerThatWasNamedInTheSettingsWorksAsSparksOwn() {
        for (String reason : REASONS) {
            try (Application application = new Application(reason,
                    "spark.shuffle.manager=" + VerbenaShuffleManager.class.getName())) {
                assertNull(((VerbenaShuffleManager) SparkEnv.get().shuffleManager()).engine(), reason);
                assertEquals(10, application.pairs().groupByKey(3).count());
            }
        }
    }
}
