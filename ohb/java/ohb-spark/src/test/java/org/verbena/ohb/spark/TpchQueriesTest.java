// SPDX-License-Identifier: Apache-2.0
package org.verbena.ohb.spark;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.HashSet;
import java.util.Set;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

class TpchQueriesTest {
    @Test
    void thereAreAllTwentyTwoQueriesAndEachIsOneSelect() {
        assertEquals(IntStream.rangeClosed(1, 22).mapToObj(n -> "q" + n).toList(), TpchQueries.names().stream().toList());
        Set<String> texts = new HashSet<>();
        for (String name : TpchQueries.names()) {
            String text = TpchQueries.text(name);
            assertTrue(text.startsWith("SELECT ") || text.startsWith("WITH "), text);
            assertTrue(!text.contains("---") && !text.contains(";"), text);
            texts.add(text);
        }
        assertEquals(22, texts.size());
    }

    @Test
    void anUnknownQueryIsRefusedWithTheNamesThereAre() {
        String said = assertThrows(IllegalArgumentException.class, () -> TpchQueries.text("q23")).getMessage();
        assertTrue(said.contains("q22"), said);
    }
}
