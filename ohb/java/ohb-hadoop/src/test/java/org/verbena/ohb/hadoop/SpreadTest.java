// SPDX-License-Identifier: Apache-2.0
package org.verbena.ohb.hadoop;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.Random;
import org.junit.jupiter.api.Test;
import org.verbena.ohb.hadoop.MrBench.Spread;

/** Which reducer gets how much. */
class SpreadTest {
    private static final int PAIRS = 80_000;

    private static long[] spread(Spread spread, int reducers) {
        long[] counts = new long[reducers];
        Random random = new Random(5);
        for (long pair = 0; pair < PAIRS; pair++) {
            counts[spread.reducer(pair, random, reducers)]++;
        }
        return counts;
    }

    private static void assertShare(double share, long count) {
        assertEquals(share * PAIRS, count, 0.02 * PAIRS);
    }

    @Test
    void theAverageIsExact() {
        assertArrayEquals(new long[] {PAIRS / 4, PAIRS / 4, PAIRS / 4, PAIRS / 4}, spread(Spread.AVG, 4));
    }

    @Test
    void atRandomEachGetsAboutTheSame() {
        for (long count : spread(Spread.RAND, 8)) {
            assertShare(1 / 8.0, count);
        }
    }

    @Test
    void theFirstGetsHalfTheSecondAQuarterTheThirdAnEighth() {
        long[] counts = spread(Spread.SKEW, 8);
        assertShare(1 / 2.0 + 1 / 64.0, counts[0]);
        assertShare(1 / 4.0 + 1 / 64.0, counts[1]);
        assertShare(1 / 8.0 + 1 / 64.0, counts[2]);
        assertShare(1 / 64.0, counts[7]);
        assertArrayEquals(new long[] {PAIRS}, spread(Spread.SKEW, 1));
    }

    @Test
    void keysCarryTheirReducerAndHashesTellBytesApart() {
        byte[] key = new byte[8];
        Pairs.putInt(key, 77);
        assertEquals(77, Pairs.getInt(key));
        long hash = Pairs.hash(key, 8);
        assertTrue(hash >= 0 && hash < 1L << 32);
        key[7]++;
        assertNotEquals(hash, Pairs.hash(key, 8));
        assertNotEquals(Pairs.hash(new byte[2], 1), Pairs.hash(new byte[2], 2));
    }
}
