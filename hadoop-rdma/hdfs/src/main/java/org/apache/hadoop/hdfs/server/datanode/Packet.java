// SPDX-License-Identifier: Apache-2.0
package org.apache.hadoop.hdfs.server.datanode;

import java.io.IOException;
import java.nio.ByteBuffer;
import org.apache.hadoop.hdfs.protocol.datatransfer.PacketHeader;
import org.apache.hadoop.hdfs.protocol.datatransfer.PacketReceiver;

/**
 * A packet of a block, in the buffer into which it was read. The wire has: length of what follows without the header's length
 * and the header (4 bytes), length of the header (2), header, checksums, data.
 *
 * @param header the header
 * @param whole all of it, for the next DataNode
 * @param sums the checksums
 * @param data the data
 */
record Packet(PacketHeader header, ByteBuffer whole, ByteBuffer sums, ByteBuffer data) {
    /** The two lengths. */
    static final int LENGTHS = PacketHeader.PKT_LENGTHS_LEN;
    private static final int INT = 4;

    /**
     * How long a packet is.
     *
     * @param bytes begins with the lengths
     * @throws IOException when they cannot be those of a packet
     */
    static int length(ByteBuffer bytes) throws IOException {
        return length(bytes.getInt(0), bytes.getShort(INT));
    }

    private static int length(int payload, int header) throws IOException {
        long all = (long) LENGTHS + header + payload - INT;
        if (payload < INT || header <= 0 || all > PacketReceiver.MAX_PACKET_SIZE) {
            throw new IOException("a packet has a header of " + header + " bytes and a payload of " + payload
                + ": no packet has more than " + PacketReceiver.MAX_PACKET_SIZE + " bytes in all, or no header");
        }
        return (int) all;
    }

    /**
     * Decodes a packet where it lies, though its sender may change the bytes meanwhile: lengths and header are read once.
     *
     * @param bytes from 0 to the limit; they may end with a part of the packet, or have more than one
     * @return the packet with which they begin; null when they have a part of it
     * @throws IOException when it is malformed
     */
    static Packet first(ByteBuffer bytes) throws IOException {
        if (bytes.limit() < LENGTHS) {
            return null;
        }
        int payload = bytes.getInt(0);
        int header = bytes.getShort(INT);
        int all = length(payload, header);
        return all > bytes.limit() ? null : of(bytes.slice(0, all), payload, header);
    }

    /** All of it, from 0 to the limit; the lengths are those with which it begins. */
    private static Packet of(ByteBuffer whole, int payload, int headerLength) throws IOException {
        byte[] encoded = new byte[headerLength];
        whole.get(LENGTHS, encoded);
        PacketHeader header = new PacketHeader();
        header.setFieldsFromData(payload, encoded);
        int length = header.getDataLen();
        int sums = LENGTHS + encoded.length;
        int data = whole.limit() - length;
        if (length < 0 || data < sums) {
            throw new IOException("a packet of " + whole.limit() + " bytes says that it has " + length + " bytes of data");
        }
        if (header.isLastPacketInBlock() && length > 0) {
            throw new IOException("the last packet of a block has " + length + " bytes of data: it has none");
        }
        if (header.getOffsetInBlock() < 0) {
            throw new IOException("a packet is for the offset " + header.getOffsetInBlock());
        }
        return new Packet(header, whole, whole.slice(sums, data - sums), whole.slice(data, length));
    }

    long offset() {
        return header.getOffsetInBlock();
    }

    int length() {
        return header.getDataLen();
    }

    /** The block's length with this packet. */
    long end() {
        return offset() + length();
    }

    boolean isLast() {
        return header.isLastPacketInBlock();
    }

    boolean sync() {
        return header.getSyncBlock();
    }

    long seqno() {
        return header.getSeqno();
    }
}
