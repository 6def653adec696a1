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

    /** Why a call goes by TCP to a server at that address, after it has waited as long as it should. */
    private static Reason reason(SocketAddress server, int waitMillis) throws Exception {
        Configuration conf = new Configuration(false);
        conf.set("verbena.hbase.auth", "none");
        conf.setInt("verbena.hbase.connect.wait.ms", waitMillis);
        ServerLink link = CoreNode.of(HBaseConf.of(conf)).server((InetSocketAddress) server);
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
    void a_closed_port_is_not_waited_for() throws Exception {
        try (Socket bound = new Socket()) { // nobody else gets the port, and nobody listens
            bound.bind(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0));
            assertEquals(Reason.NOT_ANSWERED, reason(bound.getLocalSocketAddress(), 600_000));
        }
    }
}
