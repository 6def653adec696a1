// SPDX-License-Identifier: Apache-2.0
// A server does not go to disk for a request that its client has given up meanwhile.
package org.verbena.spark.read;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(120)
class GivenUpTest {
    private static final int BY_SPARK = 7;
    private static final String BLOCK = "broadcast_0_piece0_" + BY_SPARK; // the tests' transport brings its last number

    /** What comes for the block, and how often the server's block manager was asked for it. */
    private static long[] fetched(long serveSeconds) throws Exception {
        try (Executors executors = new Executors()) {
            executors.serveSeconds = serveSeconds;
            Executors.One client = executors.start("client");
            executors.start("server").write(2, 0, 1);
            FetchProgram.connect(client, "server", "shuffle_2_0_0");
            long before = Executors.HEAP_READS.sum();
            int came = client.fetch("server", BLOCK);
            return new long[] {came, Executors.HEAP_READS.sum() - before};
        }
    }

    @Test
    void aRequestThatWaitedTooLongIsRefusedWithoutReadingItsBlocks() throws Exception {
        long[] fetched = fetched(0);
        assertEquals(0, fetched[1]);
        assertEquals(BY_SPARK, fetched[0]);
    }

    @Test
    void aRequestThatSomebodyWaitsForIsServed() throws Exception {
        long[] fetched = fetched(60);
        assertEquals(1, fetched[1]);
        assertNotEquals(BY_SPARK, fetched[0]);
    }
}
