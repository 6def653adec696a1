// SPDX-License-Identifier: Apache-2.0
package org.verbena.hadoop.hdfs;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.io.IOException;
import org.apache.hadoop.ipc.RemoteException;
import org.junit.jupiter.api.Test;

final class ClusterCheckTest {
    @Test
    void a_cause_is_one_line_also_where_a_server_sends_its_stack() {
        assertEquals("The quota system is disabled in Router.", ClusterCheck.cause(new RemoteException(IOException.class.getName(),
            "The quota system is disabled in Router.\n\tat org.example.Quota.each(Quota.java:146)\n")));
        assertEquals("no host", ClusterCheck.cause(new IOException("no host")));
        assertEquals("", ClusterCheck.cause(new IOException("")));
    }
}
