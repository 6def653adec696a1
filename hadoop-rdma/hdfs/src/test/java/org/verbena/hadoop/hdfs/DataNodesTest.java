// SPDX-License-Identifier: Apache-2.0
package org.verbena.hadoop.hdfs;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.Socket;
import org.apache.hadoop.conf.Configuration;
import org.junit.jupiter.api.Test;
import org.verbena.core.plugin.Remotes;
import org.verbena.hadoop.hdfs.settings.HdfsConf;

/** Who does not answer is not waited for until the question for a greeting fails: then something would be known of it. */
class DataNodesTest {
    private static final int OFFSET = 20;
    /** Longer than the question takes to fail; a twentieth of it is far shorter. */
    private static final int LONG = 8000;
    /** A twentieth is longer than the kernel takes to refuse a question. */
    private static final int LONGER = 600_000;

    /** What a client knows that has opened a connection to a DataNode whose greeting's port this is. */
    private static String obstacle(int greeting, int patience) {
        CoreNode node = node(patience);
        InetSocketAddress data = data(greeting);
        long before = notAnswered(node);
        assertNull(node.dataNodes().open(data));
        assertEquals(before + 1, notAnswered(node));
        return node.dataNodes().obstacle(data);
    }

    private static CoreNode node(int patience) {
        Configuration conf = new Configuration(false);
        conf.setInt("verbena.hdfs.port.offset", OFFSET);
        conf.setInt("verbena.hdfs.connect.wait.ms", patience);
        return CoreNode.of(HdfsConf.of(conf));
    }

    /** The data port that belongs to a greeting's. */
    private static InetSocketAddress data(int greeting) {
        return new InetSocketAddress(InetAddress.getLoopbackAddress(), greeting - OFFSET);
    }

    private static long notAnswered(CoreNode node) {
        return node.tally().numbers().get("connections.tcp.not_answered");
    }

    @Test
    void a_port_that_accepts_and_says_nothing_is_not_waited_for() throws Exception {
        try (ServerSocket mute = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
            assertEquals("not yet connected", obstacle(mute.getLocalPort(), LONG));
        }
    }

    @Test
    void a_port_that_drops_what_comes_is_not_waited_for() throws Exception {
        try (ServerSocket full = new ServerSocket(0, 1, InetAddress.getLoopbackAddress()); Socket one = new Socket();
                Socket other = new Socket()) {
            one.connect(full.getLocalSocketAddress()); // the kernel keeps two and drops all further requests
            other.connect(full.getLocalSocketAddress());
            assertEquals("not yet connected", obstacle(full.getLocalPort(), LONG));
        }
    }

    @Test
    void addresses_that_nobody_asks_for_any_more_are_forgotten() throws Exception {
        try (Socket bound = new Socket()) {
            bound.bind(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0));
            DataNodes nodes = node(LONGER - 1).dataNodes(); // those of other tests may still be asked
            assertNull(nodes.open(data(bound.getLocalPort())));
            nodes.links().sweep(System.nanoTime() + Remotes.FORGET / 2);
            assertEquals(1, nodes.links().size(), "asked for within the hour");
            nodes.links().sweep(System.nanoTime() + Remotes.FORGET + 1);
            assertEquals(0, nodes.links().size());
        }
    }

    @Test
    void a_closed_port_is_not_waited_for() throws Exception {
        try (Socket bound = new Socket()) { // nobody else gets the port, and nobody listens
            bound.bind(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0));
            String known = obstacle(bound.getLocalPort(), LONGER);
            assertTrue(known.contains("no greeting at port " + bound.getLocalPort()), known);
        }
    }
}
