// SPDX-License-Identifier: Apache-2.0
package org.apache.hadoop.ipc;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.io.InterruptedIOException;
import java.net.InetSocketAddress;
import org.apache.hadoop.tools.protocolPB.GetUserMappingsProtocolClientSideTranslatorPB;
import org.junit.jupiter.api.Test;
import org.verbena.hadoop.rpc.node.CoreNode;
import org.verbena.hadoop.rpc.node.RpcConf;
import org.verbena.hadoop.rpc.node.ServerLink;

/** Calls that cannot be sent. A connection ends idle only when no call is left in its table. */
class RefusedCallsTest {
    private static final int CALLS = 100;

    @Test
    void no_call_stays_in_a_connection_after_sends_that_failed() throws Exception {
        try (Groups groups = new Groups(true, "ipc.client.connection.maxidletime", "100", "ipc.maximum.data.length", "100000");
                GetUserMappingsProtocolClientSideTranslatorPB client = groups.client()) {
            Groups.connect(groups.conf, client);
            long before = Groups.byCore(groups.conf);
            for (int i = 0; i < CALLS; i++) {
                Thread.currentThread().interrupt();
                assertThrows(InterruptedIOException.class, () -> client.getGroupsForUser("echo a"));
                assertTrue(Thread.interrupted(), "the caller still knows of its interrupt");
            }
            assertTrue(Groups.byCore(groups.conf) - before > 0, "calls by the core were interrupted");
            assertEndsIdle(groups);
            String tooLong = "echo " + "x".repeat(200_000);
            for (int i = 0; i < CALLS; i++) {
                assertThrows(IOException.class, () -> client.getGroupsForUser(tooLong));
                assertArrayEquals(new String[] {"b"}, client.getGroupsForUser("echo b"));
            }
            assertEndsIdle(groups);
            assertArrayEquals(new String[] {"c"}, client.getGroupsForUser("echo c"));
        }
    }

    @Test
    void a_server_with_as_many_connections_as_it_may_have_is_called_by_tcp() throws Exception {
        try (Groups groups = new Groups(true, "ipc.server.max.connections", "1");
                GetUserMappingsProtocolClientSideTranslatorPB client = groups.client()) {
            ServerLink link = CoreNode.of(RpcConf.of(groups.conf))
                .server(new InetSocketAddress("127.0.0.1", groups.server.getPort()));
            long before = Groups.numbers(groups.conf).get("calls.tcp.after_failures");
            Groups.until("the server is reached by the core", () -> {
                echo(client, "connect");
                return link.peer() != null;
            });
            for (int i = 0; i < CALLS; i++) {
                echo(client, "a" + i);
            }
            assertTrue(Groups.numbers(groups.conf).get("calls.tcp.after_failures") > before, "a stream was refused");
            assertEquals(1, groups.server.getNumOpenConnections());
        }
    }

    private static void echo(GetUserMappingsProtocolClientSideTranslatorPB client, String word) {
        try {
            assertArrayEquals(new String[] {word}, client.getGroupsForUser("echo " + word));
        } catch (IOException e) {
            throw new AssertionError("echo " + word, e);
        }
    }

    private static void assertEndsIdle(Groups groups) {
        Groups.until("no call is left, and connections end idle", () -> groups.server.getNumOpenConnections() == 0);
    }
}
