// SPDX-License-Identifier: Apache-2.0
package org.verbena.hbase;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.net.SocketAddress;
import java.util.concurrent.TimeUnit;
import org.apache.hadoop.conf.Configuration;
import org.junit.jupiter.api.Test;

/** Calls do not wait all of their time for a server that does not answer: then the reason would be another one. */
class ServerLinkTest {
    private static final int SECONDS = 60;
    /** So long that the connect would fail before, with another reason; a twentieth is a fifth of the time after which it does. */
    private static final int PATIENCE = 40_000;

    private static Configuration conf(int waitMillis) {
        Configuration conf = new Configuration(false);
        conf.set("verbena.hbase.auth", "none");
        conf.setInt("verbena.hbase.connect.wait.ms", waitMillis);
        return conf;
    }

    /** Why a call goes by TCP to a server at that address, after it has waited as long as it should. */
    private static Reason reason(SocketAddress server, int waitMillis) throws Exception {
        ServerLink link = CoreNode.of(HBaseConf.of(conf(waitMillis))).server((InetSocketAddress) server);
        link.use();
        link.decided(0).get(SECONDS, TimeUnit.SECONDS);
        return link.use();
    }

    @Test
    void a_server_that_accepts_and_says_nothing_is_not_waited_for() throws Exception {
        try (ServerSocket mute = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
            assertEquals(Reason.NOT_ANSWERED, reason(mute.getLocalSocketAddress(), PATIENCE));
        }
    }

    @Test
    void servers_that_nobody_calls_any_more_are_forgotten() throws Exception {
        try (Socket bound = new Socket()) {
            bound.bind(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0));
            reason(bound.getLocalSocketAddress(), 500_000); // settings, and so servers, of this test alone
            CoreNode node = CoreNode.of(HBaseConf.of(conf(500_000)));
            node.sweep(System.nanoTime() + CoreNode.FORGET / 2);
            assertEquals(1, node.known(), "called within the hour");
            node.sweep(System.nanoTime() + CoreNode.FORGET + 1);
            assertEquals(0, node.known());
        }
    }

    @Test
    void a_closed_port_is_not_waited_for() throws Exception {
        try (Socket bound = new Socket()) { // nobody else gets the port, and nobody listens
            bound.bind(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0));
            assertEquals(Reason.NOT_ANSWERED, reason(bound.getLocalSocketAddress(), 600_000));
        }
    }
}
