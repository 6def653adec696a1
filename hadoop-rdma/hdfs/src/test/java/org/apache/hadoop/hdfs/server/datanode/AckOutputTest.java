// SPDX-License-Identifier: Apache-2.0
package org.apache.hadoop.hdfs.server.datanode;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.BufferedOutputStream;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.apache.hadoop.hdfs.protocol.datatransfer.PipelineAck;
import org.apache.hadoop.hdfs.protocol.proto.DataTransferProtos.Status;
import org.junit.jupiter.api.Test;

/** How many messages acknowledgements take, and that none stays. */
class AckOutputTest {
    private long millis;
    /** The bytes of each write that reaches the stream. */
    private final List<byte[]> messages = new ArrayList<>();
    private final AckOutput out = new AckOutput(new DataOutputStream(new BufferedOutputStream(new OutputStream() {
        @Override
        public void write(int one) {
            throw new AssertionError("a message of one byte");
        }

        @Override
        public void write(byte[] bytes, int offset, int length) {
            messages.add(Arrays.copyOfRange(bytes, offset, offset + length));
        }
    })), () -> millis);

    private static PipelineAck ack(long seqno) {
        return new PipelineAck(seqno, new int[] {PipelineAck.combineHeader(PipelineAck.ECN.DISABLED, Status.SUCCESS)}, 0);
    }

    private void assertSent(long... expected) throws IOException {
        ByteArrayOutputStream all = new ByteArrayOutputStream();
        for (byte[] message : messages) {
            all.write(message);
        }
        ByteArrayInputStream in = new ByteArrayInputStream(all.toByteArray());
        for (long seqno : expected) {
            PipelineAck found = new PipelineAck();
            found.readFields(in);
            assertEquals(seqno, found.getSeqno());
        }
        assertEquals(0, in.available());
    }

    @Test
    void acknowledgements_of_packets_that_follow_at_once_leave_together() throws Exception {
        long[] all = new long[2 * AckOutput.TOGETHER + 1];
        for (int i = 0; i < all.length; i++) {
            all[i] = i;
            out.write(ack(i), false);
        }
        assertEquals(2, messages.size());
        out.flush();
        assertEquals(3, messages.size());
        out.flush();
        assertEquals(3, messages.size(), "nothing was kept");
        assertTrue(out.isEmpty());
        assertSent(all);
    }

    @Test
    void none_waits_after_a_long_silence() throws Exception {
        out.write(ack(0), false);
        millis = AckOutput.MOST_SILENT_MILLIS + 1;
        out.write(ack(1), false);
        assertEquals(1, messages.size());
        out.write(ack(2), false);
        assertEquals(1, messages.size(), "one has left just now");
        millis *= 2;
        out.write(ack(3), false);
        assertSent(0, 1, 2, 3);
    }

    @Test
    void what_leaves_at_once_takes_along_what_was_kept_in_order() throws Exception {
        out.write(ack(0), false);
        out.write(ack(1), true);
        assertEquals(1, messages.size());
        out.write(ack(2), false);
        assertTrue(out.tell(ack(PipelineAck.UNKOWN_SEQNO), 1000));
        assertEquals(2, messages.size());
        assertSent(0, 1, 2, PipelineAck.UNKOWN_SEQNO);
    }
}
