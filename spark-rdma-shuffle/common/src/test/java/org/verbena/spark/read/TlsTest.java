// SPDX-License-Identifier: Apache-2.0
package org.verbena.spark.read;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.verbena.spark.metrics.Traffic;

/** What the driver sets where Spark encrypts: blocks come by TCP with TLS. */
@Timeout(120)
class TlsTest {
    @Test
    void blocksComeByTcpWithTlsAndAreRight() throws Exception {
        try (Executors executors = new Executors(Map.of("spark.verbena.transport", "tcp",
                "spark.verbena.core.tl.tcp.tls", "true"))) {
            Executors.One a = executors.start("a");
            Executors.One b = executors.start("b");
            b.write(1, 0, 10);
            FetchProgram.connect(a, "b", "shuffle_1_0_7");
            assertEquals(7, a.fetch("b", "shuffle_1_0_7"));
            assertTrue(a.traffic.blocks(Traffic.Path.TCP) > 0);
            assertTrue(a.client.explain().contains("TLS 1.3"), a.client.explain());
        }
    }
}
