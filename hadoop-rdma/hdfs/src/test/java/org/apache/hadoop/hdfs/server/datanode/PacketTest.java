// SPDX-License-Identifier: Apache-2.0
package org.apache.hadoop.hdfs.server.datanode;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.Random;
import org.apache.hadoop.hdfs.protocol.datatransfer.PacketHeader;
import org.apache.hadoop.hdfs.protocol.datatransfer.PacketReceiver;
import org.junit.jupiter.api.Test;

/** Packets as a client sends them, and as nobody should. */
class PacketTest {
    private static final int DATA = 1000;
    private static final int SUMS = 8;
    private static final int MUTATIONS = 20_000;

    /** The bytes of a packet with checksums and data of 1, 2, 3 and so on. */
    private static ByteBuffer encoded(long offset, boolean last, int claimed, int data) {
        int sums = data == 0 ? 0 : SUMS;
        PacketHeader header = new PacketHeader(4 + sums + data, offset, 7, last, claimed, true);
        ByteBuffer bytes = ByteBuffer.allocateDirect(header.getSerializedSize() + sums + data);
        header.putInBuffer(bytes);
        for (int i = 0; bytes.hasRemaining(); i++) {
            bytes.put((byte) i);
        }
        return bytes.flip();
    }

    @Test
    void its_parts_lie_in_the_buffer_into_which_it_was_read() throws IOException {
        ByteBuffer bytes = encoded(512, false, DATA, DATA);
        assertEquals(bytes.limit(), Packet.length(bytes));
        Packet packet = Packet.first(bytes);
        assertEquals(512, packet.offset());
        assertEquals(512 + DATA, packet.end());
        assertEquals(7, packet.seqno());
        assertTrue(packet.sync());
        assertEquals(SUMS, packet.sums().remaining());
        assertEquals(0, packet.sums().get(0));
        assertEquals(DATA, packet.data().remaining());
        bytes.put(bytes.limit() - DATA, (byte) 99);
        assertEquals(99, packet.data().get(0), "no copy");
    }

    @Test
    void the_last_one_of_a_block_has_no_data() throws IOException {
        assertTrue(Packet.first(encoded(512, true, 0, 0)).isLast());
        assertThrows(IOException.class, () -> Packet.first(encoded(0, true, DATA, DATA)));
    }

    @Test
    void a_part_of_one_is_none_yet_and_of_several_the_first_is_given() throws IOException {
        ByteBuffer one = encoded(512, false, DATA, DATA);
        for (int length : new int[] {0, 1, Packet.LENGTHS, one.limit() - 1}) {
            assertNull(Packet.first(one.slice(0, length)), () -> length + " bytes");
        }
        ByteBuffer other = encoded(512 + DATA, false, DATA, DATA);
        ByteBuffer two = ByteBuffer.allocate(one.limit() + other.limit()).put(one.duplicate()).put(other).flip();
        assertEquals(one.limit(), Packet.first(two).whole().limit());
        assertEquals(512, Packet.first(two).offset());
        assertEquals(512 + DATA, Packet.first(two.slice(one.limit(), one.limit())).offset());
    }

    @Test
    void one_that_claims_more_data_than_it_has_is_refused() {
        assertThrows(IOException.class, () -> Packet.first(encoded(0, false, DATA + SUMS + 1, DATA)));
        assertThrows(IOException.class, () -> Packet.first(encoded(0, false, -1, DATA)));
    }

    @Test
    void one_before_the_beginning_of_a_block_is_refused() {
        assertThrows(IOException.class, () -> Packet.first(encoded(-512, false, DATA, DATA)));
    }

    @Test
    void lengths_that_no_packet_has_are_refused() {
        int[][] wrong = {{PacketReceiver.MAX_PACKET_SIZE, 20}, {3, 20}, {-1, 20}, {Integer.MIN_VALUE, 20}, {Integer.MAX_VALUE, 20},
            {100, 0}, {100, -1}};
        for (int[] lengths : wrong) {
            ByteBuffer bytes = ByteBuffer.allocate(Packet.LENGTHS).putInt(lengths[0]).putShort((short) lengths[1]);
            assertThrows(IOException.class, () -> Packet.length(bytes), lengths[0] + ", " + lengths[1]);
        }
    }

    @Test
    void changed_bytes_give_a_packet_within_its_buffer_or_an_error() {
        long seed = Long.getLong("vbn.test.seed", System.nanoTime());
        Random random = new Random(seed);
        for (int i = 0; i < MUTATIONS; i++) {
            ByteBuffer bytes = encoded(512, false, DATA, DATA);
            for (int changes = 1 + random.nextInt(3); changes > 0; changes--) {
                bytes.put(random.nextInt(40), (byte) random.nextInt());
            }
            try {
                int length = Packet.length(bytes);
                if (length <= bytes.limit()) {
                    Packet packet = Packet.first(bytes);
                    assertTrue(packet.length() >= 0 && packet.data().remaining() == packet.length() && packet.offset() >= 0,
                        () -> "seed " + seed + ": " + packet);
                }
            } catch (IOException e) {
                continue; // as it should
            }
        }
    }
}
