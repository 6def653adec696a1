// SPDX-License-Identifier: Apache-2.0
package org.verbena.hadoop.hdfs;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertSame;

import java.net.InetAddress;
import org.apache.hadoop.conf.Configuration;
import org.junit.jupiter.api.Test;
import org.verbena.core.stream.VbnStreams;

class StreamBudgetTest {
    private static final long MIB = 1 << 20;

    @Test
    void theLeastOfContainerHeapAndDirectMemoryDecides() {
        assertEquals(72 * MIB, StreamBudget.bytes(1024 * MIB, 512 * MIB, 512 * MIB), "a quarter of 1024 - 512 - 32 - 192");
        assertEquals(512 * MIB, StreamBudget.bytes(65536 * MIB, 1024 * MIB, 1024 * MIB), "half of direct memory");
        assertEquals(32 * MIB, StreamBudget.bytes(65536 * MIB, 1024 * MIB, 64 * MIB));
        assertEquals(16 * MIB, StreamBudget.bytes(1024 * MIB, 1024 * MIB, 1024 * MIB), "never none");
    }

    @Test
    void allEnginesOfAProcessCountAgainstOne() throws Exception {
        Configuration conf = new Configuration(false);
        conf.set("verbena.hdfs.auth", "none");
        conf.set("verbena.core.tl.enable", "tcp");
        conf.set("verbena.hdfs.port.offset", "21"); // a node of its own
        CoreNode node = CoreNode.of(HdfsConf.of(conf));
        InetAddress here = InetAddress.getLoopbackAddress();
        for (VbnStreams serving : node.serve(here, 2)) {
            assertSame(StreamBudget.shared(), serving.memory());
        }
        assertSame(StreamBudget.shared(), node.start(here).memory());
        assertEquals(StreamBudget.bytes(), StreamBudget.shared().bound());
    }
}
