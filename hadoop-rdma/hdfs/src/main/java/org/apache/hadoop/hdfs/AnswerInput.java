// SPDX-License-Identifier: Apache-2.0
package org.apache.hadoop.hdfs;

import java.io.EOFException;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.ReadableByteChannel;
import org.apache.hadoop.hdfs.protocol.datatransfer.DataTransferProtoUtil;
import org.apache.hadoop.hdfs.protocol.datatransfer.PacketHeader;
import org.apache.hadoop.hdfs.protocol.proto.DataTransferProtos.BlockOpResponseProto;
import org.apache.hadoop.hdfs.protocol.proto.DataTransferProtos.Status;
import org.apache.hadoop.util.DataChecksum;

/** A DataNode's answer to a read, taken in as few pieces as it comes in. Of one thread. */
final class AnswerInput {
    private static final int LENGTH_MOST = 5;
    /** A response or a packet that is longer belongs to no small read. */
    private static final int MESSAGE_MOST = 1 << 20;
    /** Room for a response, for headers, and for checksums and chunks beside what was asked for. */
    private static final int BESIDE = 2048;

    private final ReadableByteChannel in;
    private final boolean verify;
    private final String path;
    private ByteBuffer buffer;

    /**
     * Begins an answer.
     *
     * @param length how many bytes were asked for
     * @param path for messages
     */
    AnswerInput(ReadableByteChannel in, int length, boolean verify, String path) {
        this.in = in;
        this.verify = verify;
        this.path = path;
        this.buffer = ByteBuffer.allocate(length + BESIDE).flip();
    }

    /**
     * Reads all of it, and checks it.
     *
     * @param offset the first byte that was asked for, in the block
     * @param length how many
     * @return the bytes
     * @throws IOException when it is no such answer, or a chunk is damaged
     */
    ByteBuffer read(long offset, int length) throws IOException {
        BlockOpResponseProto response = response();
        if (response.getStatus() != Status.SUCCESS) {
            throw new IOException(response.getStatus() + ": " + response.getMessage());
        }
        DataChecksum checksum = DataTransferProtoUtil.fromProto(response.getReadOpChecksumInfo().getChecksum());
        if (checksum == null) {
            throw new IOException("chunks of no bytes: " + response.getReadOpChecksumInfo().getChecksum());
        }
        long place = response.getReadOpChecksumInfo().getChunkOffset();
        if (place < 0 || place > offset || place <= offset - checksum.getBytesPerChecksum()) {
            throw new IOException("the first chunk is at " + place + ", not at " + offset);
        }
        ByteBuffer bytes = ByteBuffer.allocate(length);
        for (long seqno = -1; place < offset + length; seqno++) {
            place += packet(checksum, seqno, place, offset, bytes);
        }
        PacketHeader end = header();
        if (!end.isLastPacketInBlock() || end.getDataLen() != 0) {
            throw new IOException("no end after the last byte: " + end);
        }
        return bytes.flip();
    }

    private BlockOpResponseProto response() throws IOException {
        int length = 0;
        for (int i = 0; i < LENGTH_MOST; i++) {
            need(1);
            byte part = buffer.get();
            length |= (part & 0x7f) << 7 * i;
            if (part >= 0) {
                break;
            }
        }
        byte[] response = new byte[need(length)];
        buffer.get(response);
        return BlockOpResponseProto.parseFrom(response);
    }

    /** The header of the next packet; checksums and data follow. */
    private PacketHeader header() throws IOException {
        need(PacketHeader.PKT_LENGTHS_LEN);
        int payload = buffer.getInt();
        int length = buffer.getShort();
        byte[] header = new byte[need(length)];
        buffer.get(header);
        PacketHeader packet = new PacketHeader();
        packet.setFieldsFromData(payload, header);
        need(payload - Integer.BYTES);
        return packet;
    }

    /** Adds what was asked for of a packet. Returns how many bytes it has. */
    private int packet(DataChecksum checksum, long lastSeqno, long place, long offset, ByteBuffer into) throws IOException {
        PacketHeader header = header();
        int length = header.getDataLen();
        int chunks = (length + checksum.getBytesPerChecksum() - 1) / checksum.getBytesPerChecksum();
        int sums = header.getPacketLen() - Integer.BYTES - length;
        if (length <= 0 || header.getOffsetInBlock() != place || !header.sanityCheck(lastSeqno)
                || sums != chunks * checksum.getChecksumSize()) {
            throw new IOException("unexpected packet at " + place + ": " + header);
        }
        int first = buffer.position() + sums;
        ByteBuffer data = buffer.slice(first, length);
        if (verify) {
            checksum.verifyChunkedSums(data, buffer.slice(buffer.position(), sums), path, place);
        }
        int skipped = (int) Math.max(0, offset - place);
        int count = Math.min(length - skipped, into.remaining());
        into.put(data.slice(skipped, Math.max(0, count)));
        buffer.position(first + length);
        return length;
    }

    /** Returns the count, when so many bytes are there. */
    private int need(int count) throws IOException {
        if (count < 0 || count > MESSAGE_MOST) {
            throw new IOException("a part of " + count + " bytes");
        }
        if (buffer.remaining() >= count) {
            return count;
        }
        if (buffer.position() + count > buffer.capacity()) {
            buffer = ByteBuffer.allocate(count + BESIDE).put(buffer).flip();
        }
        int begin = buffer.position();
        buffer.position(buffer.limit()).limit(buffer.capacity());
        while (buffer.position() - begin < count) {
            if (in.read(buffer) < 0) {
                throw new EOFException("the DataNode has closed the connection");
            }
        }
        buffer.limit(buffer.position()).position(begin);
        return count;
    }
}
