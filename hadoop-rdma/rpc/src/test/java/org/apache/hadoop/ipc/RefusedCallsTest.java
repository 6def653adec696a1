// SPDX-License-Identifier: Apache-2.0
package org.apache.hadoop.ipc;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.io.InterruptedIOException;
import org.apache.hadoop.tools.protocolPB.GetUserMappingsProtocolClientSideTranslatorPB;
import org.junit.jupiter.api.Test;

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

    private static void assertEndsIdle(Groups groups) {
        Groups.until("no call is left, and connections end idle", () -> groups.server.getNumOpenConnections() == 0);
    }
}
