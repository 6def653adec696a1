// SPDX-License-Identifier: Apache-2.0
package org.verbena.hadoop.shuffle;

import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import org.apache.hadoop.conf.Configuration;
import org.junit.jupiter.api.Test;

class CoreClientTest {
    private static IOException failure(CoreClient client, String node) {
        return assertThrows(IOException.class, () -> client.connect(node, 13562, new byte[1], (peer, cause, unused) -> { }));
    }

    @Test
    void a_core_that_does_not_start_is_not_tried_for_each_node() throws Exception {
        try (ServerSocket taken = new ServerSocket(0, 1, InetAddress.getByName("127.0.0.1"))) {
            Configuration conf = new Configuration(false);
            conf.set("verbena.core.tl.enable", "tcp");
            conf.setInt("verbena.core.tl.tcp.port", taken.getLocalPort());
            try (CoreClient client = new CoreClient(new ShuffleConf(conf), TestNode.secret())) {
                IOException first = failure(client, "127.0.0.1");
                assertTrue(first.getMessage().contains("tl.tcp.port"), first.getMessage());
                assertSame(first, failure(client, "127.0.0.1"));
            }
        }
    }
}
