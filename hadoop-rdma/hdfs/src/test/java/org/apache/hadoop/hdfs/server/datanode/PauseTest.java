// SPDX-License-Identifier: Apache-2.0
package org.apache.hadoop.hdfs.server.datanode;

import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** The DataNode that restarts interrupts its threads once. */
class PauseTest {
    @Test
    @Timeout(value = 10, unit = TimeUnit.MINUTES)
    void an_interrupt_ends_a_pause_and_is_left_for_the_next_wait() {
        Thread.currentThread().interrupt();
        StreamReceiver.pause(TimeUnit.DAYS.toMillis(1));
        assertTrue(Thread.interrupted());
        StreamReceiver.pause(1);
        assertFalse(Thread.interrupted());
    }
}
