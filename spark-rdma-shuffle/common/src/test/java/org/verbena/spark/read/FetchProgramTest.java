// SPDX-License-Identifier: Apache-2.0
package org.verbena.spark.read;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.verbena.spark.metrics.Traffic;

/** Over RDMA devices the same runs in a guest: tests/guest. */
@Timeout(200)
class FetchProgramTest {
    private static void run(String transport, Traffic.Path path) throws Exception {
        for (Traffic traffic : FetchProgram.run(transport, 0)) {
            assertTrue(traffic.blocks(path) > FetchProgram.SIZES.length, traffic.toString());
            assertEquals(0, traffic.fallbacks(Traffic.Reason.DOWN) + traffic.fallbacks(Traffic.Reason.NOT_SERVED));
        }
    }

    @Test
    void blocksOfAllSizesComeWithTheirBytesOverSharedMemory() throws Exception {
        run("shm", Traffic.Path.SHM);
    }

    @Test
    void blocksOfAllSizesComeWithTheirBytesOverTcp() throws Exception {
        run("tcp", Traffic.Path.TCP);
    }
}
