// SPDX-License-Identifier: Apache-2.0
package org.verbena.hadoop.shuffle;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.junit.jupiter.api.Test;
import org.verbena.core.plugin.Attempt;

class LinkTest {
    private static final long MOST_MILLIS = 600_000; // that the setting may have

    @Test
    void a_node_that_starts_the_core_has_as_long_for_its_answer_as_fetchers_wait() {
        Attempt patient = new Attempt(MOST_MILLIS);
        int first = Link.readMillis(patient);
        assertTrue(first > Link.HTTP_MILLIS && first <= MOST_MILLIS, () -> first + " ms");
        assertTrue(Link.readMillis(patient) <= first, "what is left of it");
        patient.end();
        for (long millis : new long[] {0, 5_000}) {
            assertEquals(Link.HTTP_MILLIS, Link.readMillis(new Attempt(millis)), "a later fetch may use the answer");
        }
    }
}
