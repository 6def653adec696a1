// SPDX-License-Identifier: Apache-2.0
package org.verbena.hadoop.hdfs;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;

import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.Socket;
import org.apache.hadoop.conf.Configuration;
import org.junit.jupiter.api.Test;

/** Who does not answer is not waited for until the time is up: then the reason would be another one. */
class DataNodesTest {
    private static final int OFFSET = 20;

    /** The numbers of a client that has opened a connection to a DataNode whose greeting's port this is. */
    private static Tally opened(int greeting, int waitMillis) {
        Configuration conf = new Configuration(false);
        conf.setInt("verbena.hdfs.port.offset", OFFSET);
        conf.setInt("verbena.hdfs.connect.wait.ms", waitMillis);
        CoreNode node = CoreNode.of(HdfsConf.of(conf));
        assertNull(node.dataNodes().open(new InetSocketAddress(InetAddress.getLoopbackAddress(), greeting - OFFSET)));
        return node.tally();
    }

    private static long count(Tally tally, Tally.Reason reason) {
        return tally.numbers().get("connections.tcp." + reason.name().toLowerCase(java.util.Locale.ROOT));
    }

    @Test
    void a_port_that_accepts_and_says_nothing_is_not_waited_for() throws Exception {
        try (ServerSocket mute = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
            Tally tally = opened(mute.getLocalPort(), 2000);
            assertEquals(1, count(tally, Tally.Reason.NOT_ANSWERED));
            assertEquals(0, count(tally, Tally.Reason.WHILE_CONNECTING));
        }
    }

    @Test
    void a_port_that_drops_what_comes_is_not_waited_for() throws Exception {
        try (ServerSocket full = new ServerSocket(0, 1, InetAddress.getLoopbackAddress()); Socket one = new Socket();
                Socket other = new Socket()) {
            one.connect(full.getLocalSocketAddress()); // the kernel keeps two and drops all further requests
            other.connect(full.getLocalSocketAddress());
            assertEquals(1, count(opened(full.getLocalPort(), 2001), Tally.Reason.NOT_ANSWERED));
        }
    }

    @Test
    void a_closed_port_is_not_waited_for() throws Exception {
        try (Socket bound = new Socket()) { // nobody else gets the port, and nobody listens
            bound.bind(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0));
            assertEquals(1, count(opened(bound.getLocalPort(), 600_000), Tally.Reason.NOT_ANSWERED));
        }
    }
}
