// SPDX-License-Identifier: Apache-2.0
package org.verbena.hadoop.hdfs;

import static org.junit.jupiter.api.Assertions.assertSame;

import java.net.InetAddress;
import org.apache.hadoop.conf.Configuration;
import org.junit.jupiter.api.Test;
import org.verbena.core.plugin.StreamBudget;
import org.verbena.core.stream.VbnStreams;
import org.verbena.hadoop.hdfs.settings.HdfsConf;

class OneBudgetTest {
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
    }
}
